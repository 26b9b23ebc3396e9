// What a sender writes for --stats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transport/session/sender_session.hpp"

namespace framewire {

/// One JSON object: the counts over all sessions, and each report with its own: a session, or the earlier ones added up
/// (SessionHistory). Any thread.
std::string sender_statistics_json(const std::vector<const Stream*>& streams, const std::vector<SessionReport>& reports,
                                   std::int64_t run_ns);

}  // namespace framewire
