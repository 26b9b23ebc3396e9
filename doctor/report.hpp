// The doctor's report, as text for a person and as JSON for a program.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/check.hpp"
#include "doctor/facts.hpp"

namespace framewire {

struct TextStyle {
  bool has_colour = false;  // for a terminal
  bool is_verbose = false;  // also the texts and details of what is ok
};

/// The last line of a report without problems: its text, and the area whose working links it names.
struct ReportClosing {
  std::string ready = "Ready to send and view";
  std::string links_area = "Links";
};

/// The findings by area, in lines of 80 columns; only commands may be longer, so that they can be copied. A finding
/// that is not ok has its meaning below it, and each of its commands on its own line. The last line counts the findings
/// and names the links that work.
std::string text_report(std::string_view heading, const Findings& findings, TextStyle style,
                        const ReportClosing& closing = {});

/// Breaks `text` at blanks into lines of at most `columns` characters.
std::vector<std::string> wrap(std::string_view text, std::size_t columns);

// ---- The report for a program ----

/// One JSON object: "findings", each with area, name, level, value, text, details and fix (a list of commands), and the
/// facts behind them. With `host` also "host": the route to another machine. Keys contain their unit; null: not known,
/// or no limit. docs/doctor.md lists them.
std::string json_report(const MachineFacts& machine, const Findings& findings, std::optional<LinkKind> wanted,
                        const RemoteHostReport* host = nullptr);

/// The "host" of the JSON report. docs/doctor.md lists its keys; null: not known, or not measured.
nlohmann::ordered_json host_json(const RemoteHostReport& host);

/// The fault's name in the JSON report: "nothing_listens".
const char* name(HostFault fault) noexcept;

}  // namespace framewire
