#include "command/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "base/error.hpp"
#include "base/text.hpp"
#include "command/manual.hpp"
#include "command/result_file.hpp"
#include "command/suggestion.hpp"

namespace framewire {

namespace {

/// The headings of --help and the manual page.
constexpr const char* link_group = "Link";
constexpr const char* usual_group = "Options";

/// "framewire-key 0.1.0", also for what is called "framewire key" in its help.
std::string version_of(const CLI::App& app) {
  std::string program = app.get_name();
  std::ranges::replace(program, ' ', '-');
  return program + " " + FRAMEWIRE_VERSION;
}

void add_options_of_every_program(CLI::App& app) {
  app.set_help_flag("-h,--help", "print this help and exit");
  app.set_version_flag("--version", version_of(app), "print the version and exit");
}

/// CLI11 takes "[a,b]" for a list wherever there may be several values, drops the brackets and splits it at commas, but
/// a file or a command may be named so. A zero byte at its end, which no word of a command line has, hides that.
std::string hidden_from_cli11(std::string word) {
  if (word.starts_with('[') && word.ends_with(']')) {
    word.push_back('\0');
  }
  return word;
}

/// The word as its user typed it.
std::string as_typed(std::string word) {
  if (word.ends_with('\0')) {
    word.pop_back();
  }
  return word;
}

/// In the order in which CLI11 takes words: the last one first.
std::vector<std::string> words_for_cli11(int argc, const char* const* argv) {
  std::vector<std::string> words;
  for (int i = argc - 1; i > 0; --i) {
    words.push_back(hidden_from_cli11(argv[i]));
  }
  return words;
}

/// Throws for an option without its value, as in "--size=".
void refuse_empty_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || option->get_expected_max() == 0) {
      continue;
    }
    for (const std::string& value : option->results()) {
      if (value.empty()) {
        throw Error::usage(option->get_name() + " is empty; give it a value, or see " + app.get_name() + " --help");
      }
    }
  }
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
    for (const std::string& name : option->get_snames()) {
      names.push_back("-" + name);
    }
  }
  return names;
}

bool is_option(std::string_view word) {
  return word.size() > 1 && word.front() == '-';
}

/// For words that are no option, and no argument that the program takes.
Error unexpected(const CLI::App& app, const std::vector<std::string>& words) {
  const auto option = std::ranges::find_if(words, is_option);
  if (option == words.end()) {
    return Error::usage(quote(words.front()) + " is one argument too many; " + app.get_name() +
                        " --help shows what it takes");
  }
  const std::string name = option->substr(0, option->find('='));
  const auto nearest = nearest_name(name, option_names(app));
  return Error::usage("there is no option " + quote(name) + "; " +
                      (nearest ? "did you mean " + *nearest + "?" : app.get_name() + " --help lists the options"));
}

/// CLI11's error in plain words. Its types do not tell what is wrong, so its text must.
Error plain(const CLI::App& app, const CLI::ParseError& error) {
  std::vector<std::string> unknown = app.remaining();
  std::ranges::transform(unknown, unknown.begin(), as_typed);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr || std::ranges::any_of(unknown, is_option)) {
    return unexpected(app, unknown);  // a mistyped option may also be why an argument is missing
  }
  const std::string said = error.what();
  const std::string help = "; " + app.get_name() + " --help shows what it takes";
  const std::string name = said.substr(0, said.find_first_of(": "));
  const CLI::Option* option = app.get_option_no_throw(name);
  if (option != nullptr && said.ends_with(" missing")) {
    return Error::usage(name + " needs a value, " + option->get_type_name() + help);
  }
  if (option != nullptr && said.starts_with(name + ": At Most 1 ")) {
    return Error::usage(name + " was given more than once; leave out all but one");
  }
  if (said == name + " is required") {
    return Error::usage(name + " is missing" + help);
  }
  if (said.ends_with("disallowed flag override")) {
    return Error::usage((name.starts_with('-') ? "" : "--") + name + " takes no value" + help);
  }
  return Error::usage(said + help);
}

}  // namespace

void add_endpoint_options(CLI::App& app, RawCommonOptions& raw) {
  app.option_defaults()->group(link_group);
  app.add_option("--transport", raw.transport,
                 "link to use (default auto: the best one that works); local is shared memory")
      ->type_name("auto|" + all_link_names("|", "|"));
  if (raw.takes_gpu_memory) {
    app.add_option("--memory", raw.memory,
                   "memory that frames lie in (default auto, which takes host); cuda: that of an NVIDIA GPU, of which "
                   "GPU is the UUID or the PCI address (default: the one that draws the window, else the nearest to an "
                   "RDMA device, else the first one)")
        ->type_name("auto|host|cuda[:GPU]");
  } else {
    app.add_option("--memory", raw.memory, "memory that holds the data (default auto, which takes host)")
        ->type_name("auto|host");
  }
  app.add_option(
         "--key", raw.key,
         "authenticate with the key in FILE, always; see framewire key (default ~/.config/framewire/key; programs of "
         "one user on one machine need no key)")
      ->type_name("FILE");
  app.add_flag("--insecure", raw.is_insecure,
               "use no key over TCP: anyone who reaches the port can connect, and eavesdrop; needed at both ends");
  app.add_flag("--encrypt", raw.encrypt,
               "encrypt the data, too, by TLS 1.3 over " + names_of_links_that(&LinkTraits::can_be_encrypted) +
                   " (default: plaintext); both ends do so if one of them asks for it");
  app.add_option("--timeout", raw.timeout, "treat the peer as lost after this much silence (default 5s; rdma: 1s)")
      ->type_name("TIME");
  app.add_option("--tos", raw.type_of_service,
                 "type of service of the packets this end sends, 0 to 255, which is four times the DSCP (default: the "
                 "system's)")
      ->type_name("N");
  app.add_option("--rdma-address", raw.rdma_address,
                 "rdma: data address of the listening end (default: the address that TCP reached, else one that the "
                 "listening end announces)")
      ->type_name("ADDR");
  app.option_defaults()->group(usual_group);
}

void add_ring_options(CLI::App& app, RawCommonOptions& raw) {
  CLI::Option* const relaxed =
      app.add_flag("--relaxed-ordering", raw.relaxed_ordering,
                   "rdma: let payload reach memory in any order, if the device can do that (default)")
          ->group(link_group);
  app.add_flag("--no-relaxed-ordering", raw.strict_ordering,
               "rdma: make payload reach memory in the order of its bytes")
      ->group(link_group)
      ->excludes(relaxed);
}

void add_spin_option(CLI::App& app, RawCommonOptions& raw) {
  app.add_flag("--spin", raw.spins,
               "poll for data and never sleep, which occupies one CPU core (default: poll briefly, then sleep)")
      ->group(link_group);
}

void add_run_options(CLI::App& app, RawCommonOptions& raw, const std::string& duration_begins) {
  app.add_option("--frames", raw.frames, "stop after N frames (default: no limit)")->type_name("N");
  app.add_option("--duration", raw.duration,
                 "stop after this time, as in 10, 2.5s or 3m, from " + duration_begins + " on (default: no limit)")
      ->type_name("TIME");
  app.add_option("--stats", raw.stats, "at the end, write all counters to FILE as one JSON object")->type_name("FILE");
  app.add_flag("--verbose", raw.is_verbose, "print more detail");
}

void print_help(CLI::App& app, std::FILE* to) {
  add_options_of_every_program(app);
  std::fputs(help_text(read_manual(app)).c_str(), to);
}

bool parse_command_line(CLI::App& app, int argc, const char* const* argv) {
  add_options_of_every_program(app);
  for (CLI::Option* option : app.get_options()) {
    option->disable_flag_override();  // else --flag=no would mean --flag
    option->transform(as_typed);
  }
  if (argc > 1 && std::string_view(argv[1]) == "--write-manual") {
    const std::vector<std::string> raw(argv + 2, argv + argc);
    std::fputs(written_manual(app, raw).c_str(), stdout);
    return false;
  }
  try {
    app.parse(words_for_cli11(argc, argv));
  } catch (const CLI::CallForHelp&) {
    std::fputs(help_text(read_manual(app)).c_str(), stdout);
    return false;
  } catch (const CLI::CallForVersion&) {
    std::printf("%s\n", version_of(app).c_str());
    return false;
  } catch (const CLI::ParseError& error) {
    throw plain(app, error);
  }
  refuse_empty_values(app);
  return true;
}

void write_stats_file(const std::string& file, const std::string& json) {
  ResultFile(file, {.what = "the statistics", .option = "--stats"}).write(json + "\n");
}

}  // namespace framewire
