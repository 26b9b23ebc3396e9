// The messages of a row of verbs on the control channel, after the hellos. docs/wire.md lists them. Functions that read
// a message throw Error (failed); it names the field and its valid values.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench/verbs/verbs_plan.hpp"
#include "transport/control/token.hpp"

namespace framewire {

/// 1. The client: the plan. The reading function refuses a plan that would take too much memory.
nlohmann::json verbs_row_message(const VerbsPlan& plan);
VerbsPlan read_row_message(const nlohmann::json& message);

/// 2. The server: the port of its RDMA listener; the session and the token prove that the connection belongs to this
/// row.
struct VerbsConnect {
  SessionId session{};
  std::string token;
  std::uint16_t rdma_port = 0;
};
nlohmann::json verbs_connect_message(const VerbsConnect& connect);
VerbsConnect read_connect_message(const nlohmann::json& message);

/// 3. The client, then the server: its memory. The server is ready when it sends this.
nlohmann::json remote_memory_message(const VerbsRemoteMemory& remote_memory);
VerbsRemoteMemory read_remote_memory_message(const nlohmann::json& message);

/// 4. The client: the number of messages that it sent; all of them have been acknowledged.
nlohmann::json end_message(std::uint64_t count);
std::uint64_t read_end_message(const nlohmann::json& message);

}  // namespace framewire
