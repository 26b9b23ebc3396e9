// What the two ends of a raw measurement say to each other on the control channel, after their hellos. docs/wire.md
// lists it. Readers throw Error (failed) that names the field and what it takes.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench/verbs/verbs_plan.hpp"
#include "transport/control/token.hpp"

namespace framewire {

/// 1. The client: what is to be measured. The reader refuses what would take too much memory.
nlohmann::json verbs_row_message(const VerbsPlan& plan);
VerbsPlan read_row_message(const nlohmann::json& message);

/// 2. The server: where the RDMA connection goes, and what proves that it belongs here.
struct VerbsConnect {
  SessionId session{};
  std::string token;
  std::uint16_t rdma_port = 0;
};
nlohmann::json verbs_connect_message(const VerbsConnect& connect);
VerbsConnect read_connect_message(const nlohmann::json& message);

/// 3. The client, then the server, which is ready when it says so.
nlohmann::json remote_memory_message(const VerbsRemoteMemory& remote_memory);
VerbsRemoteMemory read_remote_memory_message(const nlohmann::json& message);

/// 4. The client: so many messages went, and all of them have been acknowledged.
nlohmann::json end_message(std::uint64_t count);
std::uint64_t read_end_message(const nlohmann::json& message);

}  // namespace framewire
