// The messages between a bench server and a client that says hello as `bench`. docs/bench-wire.md lists them. Functions
// that read a message throw Error (failed); it names the field and its valid values.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/adaptive_spin.hpp"
#include "base/error.hpp"
#include "bench/row.hpp"
#include "bench/verbs/verbs_plan.hpp"
#include "bench/xdp/network_interface.hpp"
#include "transport/control/message_channel.hpp"
#include "transport/control/token.hpp"
#include "transport/session/session_acceptor.hpp"

namespace framewire {

/// The client's role in its hello.
inline constexpr const char* bench_role = "bench";

/// Limits of a client's request, the same for links, sockets and verbs.
inline constexpr std::uint64_t max_bench_message_bytes = max_verbs_message_bytes;
inline constexpr std::uint64_t max_bench_slots = max_verbs_slots;
inline constexpr std::uint64_t max_bench_memory_bytes = max_verbs_memory_bytes;
/// Throws Error (failed) when `slots` messages of this size exceed max_bench_memory_bytes.
void require_bench_memory(std::uint64_t message_bytes, std::uint64_t slots);

Error wrong_field(const nlohmann::json& message, const std::string& field, const std::string& what_it_takes);
std::uint64_t number_field(const nlohmann::json& message, const std::string& field, std::uint64_t low,
                           std::uint64_t high);
std::string text_field(const nlohmann::json& message, const std::string& field);
bool flag_field(const nlohmann::json& message, const std::string& field);
WaitMode wait_field(const nlohmann::json& message);

/// Throws unless the message has that type. Elsewhere an unknown message of a newer peer is no error; in this protocol
/// the order of messages is fixed.
void expect(const nlohmann::json& message, const std::string& type);

/// The server sends it instead of its next message when it fails.
nlohmann::json fault_message(const std::string& text);
/// The server sends it last: its result, a JSON object as text. Then it closes the connection.
nlohmann::json result_message(const std::string& result_json);
std::string read_result_message(const nlohmann::json& message);
/// Throws the peer's text: Error (failed) for a "fault" message, Error (refused) for a refusal.
void throw_if_fault(const nlohmann::json& message);

// ---- A reverse row: the server sends ----

inline constexpr const char* reverse_type = "reverse";

/// The client's first message: the row without its transport, which the following session negotiates. The reading
/// function refuses a row that would take too much memory or never end.
nlohmann::json reverse_message(const RowPlan& plan);
RowPlan read_reverse_message(const nlohmann::json& message);

/// The server accepts. Then both sides say hello again, as a sender and a viewer, and a normal session follows.
nlohmann::json reverse_answer();

/// The client's part up to that answer. Throws Error: the server's error message, or refused for a server of an older
/// release.
void request_reverse_row(MessageChannel& channel, const RowPlan& plan);

// ---- A row of plain sockets ----

inline constexpr const char* socket_type = "socket";

/// The client's first message: the part of the plan that the server needs. The reading function refuses a row that
/// would take too much memory.
nlohmann::json socket_message(const RowPlan& plan);
RowPlan read_socket_message(const nlohmann::json& message);

/// The server's answer. The session and the token prove that the TCP connection belongs to this row; the client dials
/// it to the same port.
struct SocketConnect {
  SessionId session{};
  std::string token;
};
nlohmann::json socket_connect_message(const SocketConnect& connect);
SocketConnect read_socket_connect_message(const nlohmann::json& message);

// ---- A row of Ethernet frames ----

inline constexpr const char* xdp_type = "xdp";

/// 1. The client: the part of the plan that the server needs. The reading function refuses a row that would take too
/// much memory.
nlohmann::json xdp_message(const RowPlan& plan);
RowPlan read_xdp_message(const nlohmann::json& message);

/// 2. The server, then the client: this end of the Ethernet, whose XDP socket already takes the row's frames.
struct XdpEnd {
  MacAddress mac{};
  std::uint64_t frame_bytes = 0;  // the longest payload of a frame
  std::uint32_t row = 0;          // the number of the row's frames; the server chooses it
  bool is_zero_copy = false;
};
nlohmann::json xdp_end_message(const XdpEnd& end);
XdpEnd read_xdp_end_message(const nlohmann::json& message);

// ---- A row of verbs ----

/// 1. The client: the plan. The reading function refuses a plan that would take too much memory.
nlohmann::json verbs_row_message(const VerbsPlan& plan);
VerbsPlan read_row_message(const nlohmann::json& message);

/// 2. The server: the port of its RDMA listener; the session and the token prove that the connection belongs to this
/// row.
struct VerbsConnect {
  SessionId session{};
  std::string token;
  LinkDescription listener{};  // of the server's rdma listener; the client's dial checks it
};
nlohmann::json verbs_connect_message(const VerbsConnect& connect);
VerbsConnect read_connect_message(const nlohmann::json& message);

/// 3. The client, then the server: its memory. The server is ready when it sends this.
nlohmann::json remote_memory_message(const VerbsRemoteMemory& remote_memory);
VerbsRemoteMemory read_remote_memory_message(const nlohmann::json& message);

/// 4. The client: the number of messages that it sent; all of them have been acknowledged.
nlohmann::json end_message(std::uint64_t count);
std::uint64_t read_end_message(const nlohmann::json& message);

// ---- A row's client, as its server sees it ----

/// The client's next message, if it is there. Throws Error (lost_peer) when the client has closed or its host is
/// silent. The server calls it now and then during a row.
std::optional<nlohmann::json> poll_client(MessageChannel& channel, std::int64_t peer_timeout_ns);

// ---- The data connection of a row, on the server ----

/// Waits for the client's data connection, which is identified by the token. Throws Error when it does not come, or
/// when the client sends a message instead.
IncomingDataConnection await_bench_data(SessionAcceptor& acceptor, const DataConnectionId& connection,
                                        MessageChannel& channel);

}  // namespace framewire
