// The manual page, in roff's man macros: see man(7) and groff_man_style(7).
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>

#include "command/manual.hpp"

namespace framewire {

namespace {

/// One UTF-8 character as roff's "\[u2026]", which needs no preprocessor; advances `at`.
std::string beyond_ascii(std::string_view text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  std::uint32_t code = first & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size && at + i < text.size(); ++i) {
    code = code << 6U | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
  }
  at += size;
  std::array<char, 16> written{};
  std::snprintf(written.data(), written.size(), "\\[u%04X]", code);
  return written.data();
}

/// Escapes characters that roff would interpret, or would print as typographic ones that no shell knows.
std::string escaped(std::string_view text, bool is_typed) {
  std::string out = text.starts_with('.') ? "\\&" : "";
  for (std::size_t at = 0; at < text.size();) {
    const char letter = text[at];
    if ((static_cast<unsigned char>(letter) & 0x80U) != 0) {
      out += beyond_ascii(text, at);
      continue;
    }
    ++at;
    switch (letter) {
      case '\\':
        out += "\\e";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '"':
        out += "\\(dq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      case '-':
        out += is_typed ? "\\-" : "-";
        break;
      default:
        out += letter;
    }
  }
  return out;
}

std::string bold(std::string_view text) {
  return "\\fB" + escaped(text, true) + "\\fR";
}

/// The text after a word in another font.
std::string after(std::string_view text) {
  return text.empty() ? "" : text.front() == '.' ? "." + escaped(text.substr(1), false) : escaped(text, false);
}

/// Placeholders in italics, literal words in bold: "auto|WxH".
std::string value_text(std::string_view value) {
  std::string text;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find('|', begin), value.size());
    const std::string_view part = value.substr(begin, end - begin);
    const bool is_word = std::ranges::none_of(part, [](char letter) { return letter >= 'A' && letter <= 'Z'; });
    text += is_word ? bold(part) : "\\fI" + escaped(part, true) + "\\fR";
    text += end < value.size() ? "|" : "";
    begin = end + 1;
  }
  return text;
}

bool is_name_letter(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' || letter == '_';
}

/// Running text in short lines; options and program names in it are set in bold.
std::string prose(std::string_view text) {
  constexpr std::size_t longest_line = 78;
  std::string out;
  std::string line;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const std::size_t first = std::min(word.find_first_not_of("('"), word.size());
    std::size_t behind = first;
    while (behind < word.size() && is_name_letter(word[behind])) {
      ++behind;
    }
    const std::string_view name = word.substr(first, behind - first);
    const bool is_option = name.size() > 1 && name.front() == '-';
    const bool is_typed = is_option || name.starts_with("framewire-");
    const std::string set = is_typed ? escaped(word.substr(0, first), false) + bold(name) + after(word.substr(behind))
                                     : escaped(word, word.starts_with('-'));
    if (!line.empty() && line.size() + 1 + set.size() > longest_line) {
      out += line + '\n';
      line.clear();
    }
    line += (line.empty() ? "" : " ") + set;
    begin = end + 1;
  }
  return out + line;
}

std::string entry(const std::string& tag, std::string_view text) {
  return ".TP\n" + tag + '\n' + (text.empty() ? "\\&" : prose(text)) + '\n';
}

std::string body(const std::vector<ManualEntry>& entries) {
  std::string text;
  bool is_first = true;
  for (const ManualEntry& one : entries) {
    if (!one.term.empty()) {
      text += one.text.empty() ? ".PP\n" + bold(one.term) + '\n' : entry(bold(one.term), one.text);
    } else {
      text += (is_first ? "" : ".PP\n") + prose(one.text) + '\n';
    }
    is_first = false;
  }
  // Without a text before its first example the section would begin with an empty paragraph.
  return text.starts_with(".PP\n") ? text.substr(4) : text;
}

std::string capitals(std::string text) {
  std::ranges::transform(text, text.begin(), [](char letter) { return static_cast<char>(std::toupper(letter)); });
  return text;
}

std::string heading(std::string_view title) {
  return ".SH " + capitals(std::string(title)) + '\n';
}

std::string section(std::string_view title, const std::string& text) {
  return text.empty() ? "" : heading(title) + text;
}

std::string option_entry(const ManualOption& option) {
  std::string tag;
  for (const std::string& name : option.names) {
    tag += (tag.empty() ? "" : ", ") + (name.starts_with('-') ? bold(name) : "\\fI" + escaped(name, true) + "\\fR");
  }
  if (option.names.front().starts_with('-') && !option.value.empty()) {
    tag += ' ' + value_text(shown_value(option));
  }
  return entry(tag, shown_text(option));
}

std::string options_text(const Manual& manual) {
  std::string text;
  std::string group = "Options";
  for (const ManualOption& option : manual.options) {
    if (option.group != group) {
      group = option.group;
      text += ".SS " + escaped(group, false) + '\n';
    }
    text += option_entry(option);
  }
  return text;
}

bool takes_key(const Manual& manual) {
  return std::ranges::any_of(manual.options, [](const ManualOption& option) { return option.names.back() == "--key"; });
}

/// The sections that all programs share, unless a program has its own. Exit statuses: base/error.hpp.
std::vector<ManualSection> common_sections(const Manual& manual) {
  std::vector<ManualSection> sections{{"Exit status",
                                       {{"0", "all went well"},
                                        {"1", "it failed"},
                                        {"2", "the command line is wrong"},
                                        {"3", "refused: by the other end, or for want of a key"},
                                        {"4", "the other end was lost"}}}};
  if (takes_key(manual)) {
    sections.push_back(
        {"Files", {{"~/.config/framewire/key", "the key that machines share, where --key names no other"}}});
    sections.push_back({"Environment", {{"XDG_CONFIG_HOME", "the folder to take in place of ~/.config"}}});
  }
  return sections;
}

std::string sections_text(const Manual& manual) {
  std::string text;
  const auto has = [&](const std::string& title) {
    return std::ranges::find(manual.sections, title, &ManualSection::title) != manual.sections.end();
  };
  for (const ManualSection& one : manual.sections) {
    text += section(one.title, body(one.entries));
  }
  for (const ManualSection& one : common_sections(manual)) {
    text += has(one.title) ? "" : section(one.title, body(one.entries));
  }
  return text;
}

std::string all_words(const Manual& manual) {
  std::string text = manual.summary;
  const auto add = [&text](const std::vector<ManualEntry>& entries) {
    for (const ManualEntry& one : entries) {
      text += ' ' + one.term + ' ' + one.text;
    }
  };
  add(manual.description.entries);
  for (const ManualSection& one : manual.sections) {
    add(one.entries);
  }
  for (const ManualEntry& one : manual.subcommands) {
    text += " framewire-" + one.term;
  }
  for (const auto& options : {manual.arguments, manual.options}) {
    for (const ManualOption& option : options) {
      text += ' ' + option.text;
    }
  }
  return text;
}

bool speaks_of(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const bool begins = at == 0 || !is_name_letter(text[at - 1]);
    if (begins && (at + name.size() == text.size() || !is_name_letter(text[at + name.size()]))) {
      return true;
    }
  }
  return false;
}

std::string see_also(const Manual& manual, std::span<const std::string> programs) {
  const std::string words = all_words(manual);
  std::vector<std::string> sorted(programs.begin(), programs.end());
  std::ranges::sort(sorted);
  std::string text;
  for (const std::string& program : sorted) {
    std::string spoken = program;
    std::ranges::replace(spoken, '-', ' ');
    if (program != manual.program && (speaks_of(words, program) || speaks_of(words, spoken))) {
      text += (text.empty() ? "" : ",\n") + (".BR " + escaped(program, true) + " (1)");
    }
  }
  return text.empty() ? "" : text + '\n';
}

}  // namespace

std::string man_page(const Manual& manual, std::string_view date, std::span<const std::string> programs) {
  std::string summary = manual.summary;
  summary.front() = static_cast<char>(std::tolower(summary.front()));
  std::string arguments;
  for (const ManualOption& argument : manual.arguments) {
    arguments += option_entry(argument);
  }
  std::string subcommands;
  for (const ManualEntry& sub : manual.subcommands) {
    subcommands += entry(bold(sub.term), sub.text);
  }
  std::string page = ".\\\" Written by " + manual.program + " --write-manual man.\n";
  page += ".TH " + escaped(capitals(manual.program), true) + " 1 " + std::string(date) + " \"framewire " +
          FRAMEWIRE_VERSION + "\" \"User Commands\"\n";
  // No hyphenation: an option that is split between lines cannot be searched for.
  page += ".nh\n.ad l\n";
  page += heading("Name") + escaped(manual.program, true) + " \\-\n" + prose(summary) + '\n';
  page += heading("Synopsis") + bold(manual.invocation) + ' ' + escaped(usage_text(manual), true) + '\n';
  const std::string described = body(manual.description.entries);
  page += section("Description", described.empty() ? prose(manual.summary + '.') + '\n' : described);
  page += section("Subcommands", subcommands);
  page += section("Arguments", arguments);
  page += section("Options", options_text(manual));
  page += sections_text(manual);
  page += section("See also", see_also(manual, programs));
  return page;
}

}  // namespace framewire
