// How a client asks a bench server for a row of plain sockets. docs/wire.md has it. Readers throw Error (failed) that
// names the field and what it takes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench/row.hpp"
#include "transport/control/token.hpp"

namespace framewire {

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

}  // namespace framewire
