// --help.
#include <algorithm>

#include "command/manual.hpp"

namespace framewire {

namespace {

constexpr std::size_t width = 100;
constexpr std::size_t widest_label = 32;

/// Columns on the screen: does not count UTF-8 continuation bytes.
std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }));
}

/// Wraps `text`. The first line begins at `column`; the others are indented by `indent` spaces.
std::string wrapped(std::string_view text, std::size_t column, std::size_t indent) {
  std::string lines;
  bool is_first = true;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (!is_first && column + 1 + columns(word) > width) {
      lines += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (!is_first) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += columns(word);
    is_first = false;
    begin = end + 1;
  }
  return lines + '\n';
}

using Rows = std::vector<ManualEntry>;

/// A table of two columns. A label that is too wide for the first column gets its own line.
std::string table(const Rows& rows, std::size_t most) {
  std::size_t widest = 0;
  for (const ManualEntry& row : rows) {
    widest = std::max(widest, columns(row.term) <= most ? columns(row.term) : 0);
  }
  const std::size_t indent = 2 + widest + 2;
  std::string text;
  for (const ManualEntry& row : rows) {
    const std::size_t end = 2 + columns(row.term);
    text += "  " + row.term;
    if (row.text.empty()) {
      text += '\n';
      continue;
    }
    text += end + 2 <= indent ? std::string(indent - end, ' ') : '\n' + std::string(indent, ' ');
    text += wrapped(row.text, indent, indent);
  }
  return text;
}

/// Paragraphs separated by empty lines, and lists as tables.
std::string body(const std::vector<ManualEntry>& entries) {
  std::string text;
  for (std::size_t i = 0; i < entries.size();) {
    if (entries[i].term.empty()) {
      text += (i == 0 ? "" : "\n") + wrapped(entries[i].text, 0, 0);
      ++i;
      continue;
    }
    Rows rows;
    for (; i < entries.size() && !entries[i].term.empty(); ++i) {
      rows.push_back(entries[i]);
    }
    constexpr std::size_t widest_command = 50;
    text += table(rows, widest_command);
  }
  return text;
}

Rows rows_of(const std::vector<ManualOption>& options, std::string_view group) {
  Rows rows;
  for (const ManualOption& option : options) {
    if (group.empty() || option.group == group) {
      rows.push_back({shown_option(option), shown_text(option)});
    }
  }
  return rows;
}

/// Each group under its heading.
std::string option_groups(const Manual& manual) {
  std::string text;
  std::string group;
  for (const ManualOption& option : manual.options) {
    if (option.group != group) {
      group = option.group;
      text += '\n' + group + ":\n" + table(rows_of(manual.options, group), widest_label);
    }
  }
  return text;
}

}  // namespace

std::string help_text(const Manual& manual) {
  std::string text = "Usage: " + manual.invocation + ' ' + usage_text(manual) + "\n\n";
  text += wrapped(manual.summary + '.', 0, 0);
  if (!manual.description.entries.empty()) {
    text += '\n' + body(manual.description.entries);
  }
  if (!manual.subcommands.empty()) {
    text += "\nSubcommands:\n" + table(manual.subcommands, widest_label);
  }
  if (!manual.arguments.empty()) {
    text += "\nArguments:\n" + table(rows_of(manual.arguments, ""), widest_label);
  }
  text += option_groups(manual);
  for (const ManualSection& section : manual.sections) {
    text += '\n' + section.title + ":\n" + body(section.entries);
  }
  return text;
}

}  // namespace framewire
