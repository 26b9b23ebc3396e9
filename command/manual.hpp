// A program's command line, described once by its CLI::App and written as --help, manual page and shell completions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace framewire {

/// An option or a positional argument.
struct ManualOption {
  std::vector<std::string> names;  // "-v", "--verbose"; for an argument its only name, "HOST[:PORT]"
  std::string value;               // the value, see ValueChoices: "FILE", "auto|tcp"; empty: none
  std::string text;                // one line
  std::string group;               // the heading above it
  std::vector<std::string> excludes;
  std::vector<std::string> needs;
  bool is_required = false;
  bool repeats = false;
};

/// A paragraph, or with a term one entry of a list, such as a command and its text.
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
  std::vector<ManualOption> options;  // those of a group are adjacent
  std::vector<ManualEntry> subcommands;
  std::vector<ManualSection> sections;  // from the footer: Examples and others
};

/// The possible values, parsed from how the value is shown: alternatives between bars, "auto|WxH|FILE". Small letters
/// are literal, capitals are placeholders. FILE, HOST and COMMAND are completed, other placeholders are not. ",…" at
/// the end: a list with commas.
struct ValueChoices {
  std::vector<std::string> words;
  bool takes_files = false;
  bool takes_hosts = false;
  bool takes_commands = false;
  bool is_list = false;
};
ValueChoices read_value(std::string_view value);

/// Reads the manual from `app`. The first line of its description is the summary. In the rest, and in the footer:
/// adjacent lines are one paragraph; a line that begins with two spaces is an entry, and its term ends at the next two
/// spaces; a line that begins with more spaces continues its text. In the footer a line such as "Exit status:" begins a
/// section.
Manual read_manual(const CLI::App& app);

/// How an option is shown: "-v, --verbose", "--key FILE"; "--pix-fmt NAME" if its values do not fit in a line.
std::string shown_option(const ManualOption& option);
std::string shown_value(const ManualOption& option);
/// Its text, with the values that shown_value() omits, and the options that it needs or excludes.
std::string shown_text(const ManualOption& option);
/// The arguments after the program's name: "[OPTION]... SOURCE...".
std::string usage_text(const Manual& manual);

std::string help_text(const Manual& manual);
/// `date`: of the page. The page refers to those of `programs` that its text mentions.
std::string man_page(const Manual& manual, std::string_view date, std::span<const std::string> programs);
std::string bash_completion(const Manual& manual);
std::string zsh_completion(const Manual& manual);

/// The output of "--write-manual WORD…": "man DATE PROGRAM…", "bash" or "zsh". Throws Error (usage).
std::string written_manual(const CLI::App& app, std::span<const std::string> words);

}  // namespace framewire
