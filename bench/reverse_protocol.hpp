// How a client asks a bench server to be the sender of a row. docs/wire.md has it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bench/row.hpp"
#include "transport/control/message_channel.hpp"

namespace framewire {

inline constexpr const char* reverse_type = "reverse";

/// The client, first: the row without its transport, which the session that follows agrees on. The reader refuses what
/// would take too much memory or never end; it throws Error (failed) that names the field.
nlohmann::json reverse_message(const RowPlan& plan);
RowPlan read_reverse_message(const nlohmann::json& message);

/// The server: yes. Then both say hello anew, as a sender and a viewer, and the session takes its course.
nlohmann::json reverse_answer();

/// The client's part up to there: asks, and waits for that answer. Throws Error: what the server says, and (refused)
/// for a server of an older release.
void request_reverse_row(MessageChannel& channel, const RowPlan& plan);

}  // namespace framewire
