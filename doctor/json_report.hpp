// The doctor's report for a program.
#pragma once

#include <optional>
#include <string>

#include "doctor/check.hpp"
#include "doctor/facts.hpp"
#include "doctor/finding.hpp"
#include "doctor/host_facts.hpp"

namespace framewire {

/// One JSON object: "findings", each with area, name, level, value, text, details and fix (a list of commands), and the
/// facts behind them. Keys are named with their unit; null: not known, or no limit. docs/doctor.md lists them.
/// With `host` there is "host", too: the way to another machine.
std::string json_report(const MachineFacts& machine, const Findings& findings, std::optional<LinkKind> wanted,
                        const RemoteHostReport* host = nullptr);

}  // namespace framewire
