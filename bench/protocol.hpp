// What the messages between a bench server and a client that says hello as `bench` have in common. docs/wire.md lists
// them. Readers throw Error (failed) that names the field and what it takes.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/adaptive_spin.hpp"
#include "base/error.hpp"
#include "bench/row.hpp"
#include "bench/verbs/verbs_plan.hpp"
#include "transport/control/message_channel.hpp"
#include "transport/control/token.hpp"
#include "transport/session/session_acceptor.hpp"

namespace framewire {

/// How such a client calls itself in its hello.
inline constexpr const char* bench_role = "bench";

/// What a client may ask for, of links and sockets as of the verbs.
inline constexpr std::uint64_t max_bench_message_bytes = max_verbs_message_bytes;
inline constexpr std::uint64_t max_bench_slots = max_verbs_slots;
inline constexpr std::uint64_t max_bench_memory_bytes = max_verbs_memory_bytes;
/// Throws Error (failed) where so many slots of such messages are more than that.
void require_bench_memory(std::uint64_t message_bytes, std::uint64_t slots);

Error wrong_field(const nlohmann::json& message, const std::string& field, const std::string& what_it_takes);
std::uint64_t number_field(const nlohmann::json& message, const std::string& field, std::uint64_t low,
                           std::uint64_t high);
std::string text_field(const nlohmann::json& message, const std::string& field);
bool flag_field(const nlohmann::json& message, const std::string& field);
WaitMode wait_field(const nlohmann::json& message);

/// Throws unless it is of that type. An unknown message of a newer peer is no fault anywhere else; here each has its
/// place.
void expect(const nlohmann::json& message, const std::string& type);

/// The server, instead of its next message: what went wrong there.
nlohmann::json fault_message(const std::string& text);
/// The server, last: its result, a JSON object as text. Then it hangs up.
nlohmann::json result_message(const std::string& result_json);
std::string read_result_message(const nlohmann::json& message);
/// Throws Error (failed) with the sentence of a fault, and Error (refused) with that of a refusal.
void throw_if_fault(const nlohmann::json& message);

// How a client asks a bench server to be the sender of a row. docs/wire.md has it.

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

// How a client asks a bench server for a row of plain sockets. docs/wire.md has it. Readers throw Error (failed) that
// names the field and what it takes.

inline constexpr const char* socket_type = "socket";

/// The client, first: what the server has to know of the row; the rest is the client's. The reader refuses what would
/// take too much memory.
nlohmann::json socket_message(const RowPlan& plan);
RowPlan read_socket_message(const nlohmann::json& message);

/// The server: what proves that the TCP connection, which the client dials to the same port, belongs here.
struct SocketConnect {
  SessionId session{};
  std::string token;
};
nlohmann::json socket_connect_message(const SocketConnect& connect);
SocketConnect read_socket_connect_message(const nlohmann::json& message);

// The data connection of a client's row, at the server.

/// Waits for what the client dials, by the token that it was told. Throws Error where it does not come, or the client
/// says something else.
IncomingDataConnection await_bench_data(SessionAcceptor& acceptor, const DataConnectionId& connection,
                                        MessageChannel& channel);

}  // namespace framewire
