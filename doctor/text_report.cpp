#include "doctor/text_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace framewire {

namespace {

constexpr std::size_t max_columns = 80;
constexpr std::size_t indent_columns = 4;  // of what belongs to the line above

struct LevelStyle {
  std::string_view sign;
  std::string_view colour;  // of a terminal: ECMA-48, 8.3.117
};

LevelStyle style_of(Level level) {
  switch (level) {
    case Level::ok:
      return {"✓", "32"};
    case Level::note:
      return {"•", "36"};
    case Level::warning:
      return {"!", "33"};
    case Level::problem:
      return {"✗", "31"};
  }
  return {"?", "0"};
}

/// Characters, not bytes: those of UTF-8 that go on do not count.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
}

/// "local, tcp": what is well of that area.
std::string working_links(const Findings& findings, const std::string& area) {
  std::string names;
  for (const Finding& finding : findings) {
    if (finding.area == area && finding.level == Level::ok) {
      names += (names.empty() ? "" : ", ") + printable(finding.name);
    }
  }
  return names;
}

std::string ready_text(const Findings& findings, const ReportClosing& closing) {
  return printable(closing.ready) + " by " + working_links(findings, closing.links_area);
}

class Report {
 public:
  Report(const Findings& findings, TextStyle style) : style_(style) {
    for (const Finding& finding : findings) {
      name_columns_ = std::max(name_columns_, columns_of(finding.name));
    }
    name_columns_ = std::min<std::size_t>(name_columns_, 24);
  }

  void heading(std::string_view text) { text_ += painted(printable(text), "1") + "\n"; }
  void area(std::string_view name) { text_ += "\n" + painted(printable(name), "1") + "\n"; }

  void finding(const Finding& finding) {
    const LevelStyle level_style = style_of(finding.level);
    const std::string name = printable(finding.name);
    const std::size_t padding = name_columns_ - std::min(name_columns_, columns_of(name));
    const std::size_t value_column = indent_columns + name_columns_ + 2;
    const auto lines = wrap(printable(finding.value), max_columns - value_column);
    text_ += fmt::format("  {} {}{}  {}\n", painted(std::string(level_style.sign), level_style.colour), name,
                         std::string(padding, ' '), lines.empty() ? "" : lines.front());
    for (std::size_t i = 1; i < lines.size(); ++i) {
      text_ += std::string(value_column, ' ') + lines[i] + "\n";
    }
    if (style_.is_verbose) {
      for (const std::string& detail : finding.details) {
        const std::size_t columns = max_columns - indent_columns - 2;
        const bool fits = columns_of(detail) <= columns;  // then it may be a row of a table
        for (const std::string& line : fits ? std::vector{printable(detail)} : wrap(printable(detail), columns)) {
          text_ += std::string(indent_columns + 2, ' ') + painted(line, "2") + "\n";
        }
      }
    }
    if (finding.level != Level::ok || style_.is_verbose) {
      indented(finding.text);
    }
    for (const std::string& command : finding.remedy) {
      text_ += std::string(indent_columns + 2, ' ') + painted("$ " + printable(command), "1") + "\n";
    }
  }

  void last_line(const Findings& findings, const ReportClosing& titles) {
    std::string line;
    for (const Level level : {Level::problem, Level::warning, Level::note}) {
      const auto count = std::ranges::count(findings, level, &Finding::level);
      if (count > 0) {
        line += fmt::format("{}{} {}{}", line.empty() ? "" : ", ", count, name(level), count == 1 ? "" : "s");
      }
    }
    const std::string conclusion =
        has_problem(findings) ? painted("Something is broken", "1;31") : painted(ready_text(findings, titles), "1;32");
    text_ += fmt::format("\n{}{}{}.\n", conclusion, line.empty() ? "" : ": ", line);
  }

  std::string take() { return std::move(text_); }

 private:
  [[nodiscard]] std::string painted(const std::string& text, std::string_view colour) const {
    return style_.has_colour ? fmt::format("\x1b[{}m{}\x1b[0m", colour, text) : text;
  }

  void indented(std::string_view text) {
    for (const std::string& line : wrap(printable(text), max_columns - indent_columns)) {
      text_ += std::string(indent_columns, ' ') + line + "\n";
    }
  }

  TextStyle style_;
  std::size_t name_columns_ = 0;
  std::string text_;
};

}  // namespace

std::vector<std::string> wrap(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && columns_of(line) + 1 + columns_of(word) > columns) {
      lines.push_back(std::move(line));
      line.clear();
    }
    line += line.empty() ? std::string(word) : " " + std::string(word);
  }
  if (!line.empty()) {
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string text_report(std::string_view heading, const Findings& findings, TextStyle style,
                        const ReportClosing& closing) {
  Report report(findings, style);
  report.heading(heading);
  std::string_view area;
  for (const Finding& finding : findings) {
    if (finding.area != area) {
      area = finding.area;
      report.area(area);
    }
    report.finding(finding);
  }
  report.last_line(findings, closing);
  return report.take();
}

}  // namespace framewire
