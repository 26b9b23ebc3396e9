#include "command/manual.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"

namespace framewire {

namespace {

constexpr std::size_t longest_shown_value = 44;
constexpr std::string_view list_ending = ",…";

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (const std::string& part : parts) {
    text += (text.empty() ? "" : std::string(between)) + part;
  }
  return text;
}

bool has_capital(std::string_view text) {
  return std::ranges::any_of(text, [](char letter) { return letter >= 'A' && letter <= 'Z'; });
}

/// "Exit status:" and the like.
bool is_title(std::string_view line) {
  return line.size() > 1 && line.back() == ':' && has_capital(line.substr(0, 1)) &&
         line.find_first_of(".,;'") == std::string_view::npos && line.size() < 30;
}

void add_to(std::string& text, std::string_view more) {
  text += (text.empty() ? "" : " ") + std::string(more);
}

/// Reads lines into paragraphs and entries, as manual.hpp says.
class TextReader {
 public:
  explicit TextReader(std::string title) : sections_{{std::move(title), {}}} {}

  void read(std::string_view text, bool has_titles) {
    for (const std::string& line : split(text, '\n')) {
      if (has_titles && is_title(line)) {
        sections_.push_back({line.substr(0, line.size() - 1), {}});
        in_paragraph_ = false;
      } else {
        read_line(line);
      }
    }
  }

  [[nodiscard]] std::vector<ManualSection> sections() const { return sections_; }

 private:
  void read_line(std::string_view line) {
    std::vector<ManualEntry>& entries = sections_.back().entries;
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    if (indent == line.size()) {
      in_paragraph_ = false;
      return;
    }
    const std::string_view words = line.substr(indent);
    if (indent > 2 && !entries.empty()) {
      add_to(entries.back().text, words);
      return;
    }
    if (indent == 2) {
      const std::size_t end = std::min(words.find("  "), words.size());
      const std::size_t text = std::min(words.find_first_not_of(' ', end), words.size());
      entries.push_back({std::string(words.substr(0, end)), std::string(words.substr(text))});
      in_paragraph_ = false;
      return;
    }
    if (!in_paragraph_) {
      entries.emplace_back();
    }
    add_to(entries.back().text, words);
    in_paragraph_ = true;
  }

  std::vector<ManualSection> sections_;
  bool in_paragraph_ = false;
};

/// Sorted by name: CLI11 orders them by address, which differs from run to run.
std::vector<std::string> sorted_names(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) {
    names.push_back(option->get_name());
  }
  std::ranges::sort(names);
  return names;
}

ManualOption read_option(const CLI::Option& option) {
  ManualOption read;
  const bool is_argument = option.get_positional();
  if (is_argument) {
    read.names = {option.get_name(true)};
    // "TEXT" is CLI11's placeholder for any value.
    read.value = option.get_type_name() == "TEXT" ? read.names.front() : option.get_type_name();
    read.repeats = option.get_expected_max() > 1 && read.names.front().find(' ') == std::string::npos;
  } else {
    for (const std::string& name : option.get_snames()) {
      read.names.push_back("-" + name);
    }
    for (const std::string& name : option.get_lnames()) {
      read.names.push_back("--" + name);
    }
    read.value = option.get_expected_max() == 0 ? "" : option.get_type_name();
  }
  read.text = joined(split(option.get_description(), '\n'), " ");
  read.group = option.get_group();
  read.excludes = sorted_names(option.get_excludes());
  read.needs = sorted_names(option.get_needs());
  read.is_required = option.get_required();
  return read;
}

/// Groups in the order in which they first appear.
void group_together(std::vector<ManualOption>& options) {
  std::vector<std::string> groups;
  const auto place = [&groups](const ManualOption& option) { return std::ranges::find(groups, option.group); };
  for (const ManualOption& option : options) {
    if (place(option) == groups.end()) {
      groups.push_back(option.group);
    }
  }
  std::ranges::stable_sort(options, {}, place);
}

}  // namespace

ValueChoices read_value(std::string_view value) {
  ValueChoices read;
  if (value.ends_with(list_ending)) {
    read.is_list = true;
    value.remove_suffix(list_ending.size());
  }
  for (const std::string& part : split(value, '|')) {
    if (part.starts_with("FILE")) {
      read.takes_files = true;
    } else if (part.starts_with("HOST")) {
      read.takes_hosts = true;
    } else if (part.starts_with("COMMAND")) {
      read.takes_commands = true;
    } else if (const std::string word = part.substr(0, part.find('[')); !word.empty() && !has_capital(word)) {
      read.words.push_back(word);  // "cuda" of "cuda[:GPU]"
    }
  }
  return read;
}

std::string shown_value(const ManualOption& option) {
  if (option.value.size() <= longest_shown_value) {
    return option.value;
  }
  return option.value.ends_with(list_ending) ? "NAME,…" : "NAME";
}

std::string shown_option(const ManualOption& option) {
  const std::string names = joined(option.names, ", ");
  const bool is_argument = !option.names.front().starts_with('-');
  return option.value.empty() || is_argument ? names : names + ' ' + shown_value(option);
}

std::string shown_text(const ManualOption& option) {
  std::string text = option.text;
  const bool is_argument = !option.names.front().starts_with('-');
  if (!is_argument && shown_value(option) != option.value) {
    text += "; NAME is one of " + joined(read_value(option.value).words, ", ");
  }
  if (!option.needs.empty()) {
    text += " (only with " + joined(option.needs, ", ") + ")";
  }
  if (!option.excludes.empty()) {
    text += " (not with " + joined(option.excludes, ", ") + ")";
  }
  return text;
}

std::string usage_text(const Manual& manual) {
  std::string text = manual.subcommands.empty() ? "[OPTION]..." : "SUBCOMMAND [ARGUMENT]...";
  for (const ManualOption& argument : manual.arguments) {
    for (const std::string& name : split(argument.names.front(), ' ')) {
      const std::string dots = argument.repeats ? "..." : "";
      text.append(argument.is_required ? " " : " [").append(name).append(dots).append(argument.is_required ? "" : "]");
    }
  }
  return text;
}

Manual read_manual(const CLI::App& app) {
  Manual manual;
  manual.program = app.get_name();
  std::ranges::replace(manual.program, ' ', '-');
  manual.invocation = manual.program;
  if (manual.program.starts_with("framewire-")) {
    std::ranges::replace(manual.invocation, '-', ' ');
  }
  const std::string description = app.get_description();
  const std::size_t end = std::min(description.find('\n'), description.size());
  manual.summary = description.substr(0, end);
  TextReader body("Description");
  body.read(std::string_view(description).substr(end), false);
  manual.description = body.sections().front();
  TextReader footer("Notes");
  footer.read(app.get_footer(), true);
  manual.sections = footer.sections();
  std::erase_if(manual.sections, [](const ManualSection& section) { return section.entries.empty(); });
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) {
      (option->get_positional() ? manual.arguments : manual.options).push_back(read_option(*option));
    }
  }
  group_together(manual.options);
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    manual.subcommands.push_back({sub->get_name(), sub->get_description()});
  }
  return manual;
}

std::string written_manual(const CLI::App& app, std::span<const std::string> words) {
  const std::string format = words.empty() ? "" : words.front();
  const Manual manual = read_manual(app);
  if (format == "man" && words.size() > 1) {
    return man_page(manual, words[1], words.subspan(2));
  }
  if (format == "bash") {
    return bash_completion(manual);
  }
  if (format == "zsh") {
    return zsh_completion(manual);
  }
  throw Error::usage("--write-manual is " + quote(format) + "; it takes man DATE PROGRAM…, bash or zsh");
}

}  // namespace framewire
