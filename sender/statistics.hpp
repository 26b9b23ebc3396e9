// What a sender writes for --stats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transport/session/sender_session.hpp"

namespace framewire {

/// One JSON object: the counts over all sessions, and each report with its own: a session, or the earlier ones added up
/// (SessionHistory). `seconds` is from the first frame of a stream to its last, the longest of all streams, and `fps`
/// what they produced in a second together: waiting for viewers before that is no production. `source_losses`: how
/// often inputs were lost. Any thread.
std::string sender_statistics_json(const std::vector<const Stream*>& streams, std::uint64_t source_losses,
                                   const std::vector<SessionReport>& reports);

}  // namespace framewire
