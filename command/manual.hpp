// What a program's command line takes, said once by its CLI::App and written as --help, manual page and completion.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace framewire {

/// An option, or an argument that stands by its place.
struct ManualOption {
  std::vector<std::string> names;  // "-v", "--verbose"; of an argument its one name, "HOST[:PORT]"
  std::string value;               // what it takes, see ValueChoices: "FILE", "auto|tcp"; empty: nothing
  std::string text;                // one line
  std::string group;               // the heading that it stands under
  std::vector<std::string> excludes;
  std::vector<std::string> needs;
  bool is_required = false;
  bool repeats = false;
};

/// A paragraph, or with a term one entry of a list: a command and what it does.
struct ManualEntry {
  std::string term;
  std::string text;
};

struct ManualSection {
  std::string title;
  std::vector<ManualEntry> entries;
};

struct Manual {
  std::string program;     // "framewire-send"
  std::string invocation;  // "framewire send"
  std::string summary;     // "Sends frames to viewers", without a full stop
  ManualSection description;
  std::vector<ManualOption> arguments;
  std::vector<ManualOption> options;  // those of a group stand together
  std::vector<ManualEntry> subcommands;
  std::vector<ManualSection> sections;  // Examples and what else stands in the footer
};

/// What a value can be, read from how it is shown: alternatives between bars, "auto|WxH|FILE". Small letters are the
/// word itself, capital ones stand for something: FILE, HOST and COMMAND complete, others do not. ",…" at the end: a
/// list with commas.
struct ValueChoices {
  std::vector<std::string> words;
  bool takes_files = false;
  bool takes_hosts = false;
  bool takes_commands = false;
  bool is_list = false;
};
ValueChoices read_value(std::string_view value);

/// What `app` says of itself. The first line of its description is the summary. Of the rest, and of the footer, lines
/// that stand together are one paragraph; a line that begins with two spaces is an entry, whose term ends at the next
/// two; lines that begin with more go on with its text. In the footer a line as "Exit status:" begins a section.
Manual read_manual(const CLI::App& app);

/// How an option is shown: "-v, --verbose", "--key FILE"; "--pix-fmt NAME" where the values are too many for a line.
std::string shown_option(const ManualOption& option);
std::string shown_value(const ManualOption& option);
/// Its text, with what else holds for it: values that shown_value() leaves out, and what it goes with.
std::string shown_text(const ManualOption& option);
/// What stands behind the program's name: "[OPTION]... SOURCE...".
std::string usage_text(const Manual& manual);

std::string help_text(const Manual& manual);
/// `date` is that of the page; it refers to those of `programs` that it speaks of.
std::string man_page(const Manual& manual, std::string_view date, std::span<const std::string> programs);
std::string bash_completion(const Manual& manual);
std::string zsh_completion(const Manual& manual);

/// What "--write-manual WORD…" prints: "man DATE PROGRAM…", "bash" or "zsh". Throws Error (usage).
std::string written_manual(const CLI::App& app, std::span<const std::string> words);

}  // namespace framewire
