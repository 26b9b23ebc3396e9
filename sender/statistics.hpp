// The sender's --stats output.
#pragma once

#include <span>
#include <string>

#include "sender/reports.hpp"

namespace framewire {

/// One JSON object: the counts over all sessions, with several streams those of each stream, and each report with its
/// own counts (a report is one session, or the sum of a stream's earlier ones, SessionHistory). `seconds` is the
/// longest time from the first to the last frame of a stream; it excludes waiting for the first viewer. `fps` is what
/// all streams produced per second together. Any thread.
std::string sender_statistics_json(std::span<const StreamResult> streams, std::span<const SessionReport> reports);

}  // namespace framewire
