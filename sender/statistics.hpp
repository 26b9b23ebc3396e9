// The sender's --stats output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transport/session/sender_session.hpp"

namespace framewire {

/// One JSON object: the counts over all sessions, and each report with its own counts (a report is one session, or the
/// sum of the earlier ones, SessionHistory). `seconds` is the longest time from the first to the last frame of a
/// stream; it excludes waiting for the first viewer. `fps` is what all streams produced per second together.
/// `source_losses`: how often inputs were lost. Any thread.
std::string sender_statistics_json(const std::vector<const Stream*>& streams, std::uint64_t source_losses,
                                   const std::vector<SessionReport>& reports);

}  // namespace framewire
