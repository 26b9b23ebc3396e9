// The doctor's report for a person.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "doctor/check.hpp"
#include "doctor/facts.hpp"
#include "doctor/finding.hpp"
#include "doctor/host_facts.hpp"

namespace framewire {

struct TextStyle {
  bool has_colour = false;  // for a terminal
  bool is_verbose = false;  // also what is said of things that are well
};

/// How a report without a problem ends: its words, and the links that are well.
struct ReportClosing {
  std::string ready = "Ready to send and view";
  std::string links_area = "Links";
};

/// The findings by area, in lines of 80 columns; only commands, which are there to be copied, may be longer. What is
/// not well has its meaning below it, and each command that mends it on a line of its own. The last line counts, and
/// names the links that are well.
std::string text_report(std::string_view heading, const Findings& findings, TextStyle style,
                        const ReportClosing& closing = {});

/// `text` in lines of at most `columns` characters, broken at blanks.
std::vector<std::string> wrap(std::string_view text, std::size_t columns);

// The doctor's report for a program.

/// One JSON object: "findings", each with area, name, level, value, text, details and fix (a list of commands), and the
/// facts behind them. Keys are named with their unit; null: not known, or no limit. docs/doctor.md lists them.
/// With `host` there is "host", too: the way to another machine.
std::string json_report(const MachineFacts& machine, const Findings& findings, std::optional<LinkKind> wanted,
                        const RemoteHostReport* host = nullptr);

}  // namespace framewire
