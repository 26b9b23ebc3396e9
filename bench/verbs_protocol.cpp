#include "bench/verbs_protocol.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "bench/protocol.hpp"
#include "transport/session/messages.hpp"

namespace framewire {

using nlohmann::json;

json verbs_row_message(const VerbsPlan& plan) {
  return {{"type", "row"},
          {"operation", std::string(name(plan.operation))},
          {"message_bytes", plan.message_bytes},
          {"slots", plan.slots},
          {"wait", name(plan.wait)},
          {"touch", plan.touches_payload}};
}

VerbsPlan read_row_message(const json& message) {
  expect(message, "row");
  const auto operation = verbs_operation_from_name(text_field(message, "operation"));
  if (!operation) {
    throw wrong_field(message, "operation", "send, write, write_imm, read or latency");
  }
  const VerbsPlan plan{.operation = *operation,
                       .message_bytes = number_field(message, "message_bytes", 1, max_verbs_message_bytes),
                       .slots = static_cast<std::uint32_t>(number_field(message, "slots", 1, max_verbs_slots)),
                       .wait = wait_field(message),
                       .touches_payload = flag_field(message, "touch")};
  require_possible(plan);
  return plan;
}

json verbs_connect_message(const VerbsConnect& connect) {
  return {{"type", "connect"},
          {"session", to_hex(connect.session)},
          {"token", connect.token},
          {"rdma_port", connect.rdma_port}};
}

VerbsConnect read_connect_message(const json& message) {
  expect(message, "connect");
  return {.session = session_id_from_hex(text_field(message, "session")),
          .token = text_field(message, "token"),
          .rdma_port = static_cast<std::uint16_t>(number_field(message, "rdma_port", 1, UINT16_MAX))};
}

json remote_memory_message(const VerbsRemoteMemory& remote_memory) {
  return {{"type", "terms"},
          {"address", remote_memory.address},
          {"key", remote_memory.key},
          {"chunk_bytes", remote_memory.chunk_bytes}};
}

VerbsRemoteMemory read_remote_memory_message(const json& message) {
  expect(message, "terms");
  return {.address = number_field(message, "address", 0, UINT64_MAX),
          .key = static_cast<std::uint32_t>(number_field(message, "key", 0, UINT32_MAX)),
          .chunk_bytes = number_field(message, "chunk_bytes", min_verbs_chunk_bytes, UINT32_MAX)};
}

json end_message(std::uint64_t count) {
  return {{"type", "end"}, {"count", count}};
}

std::uint64_t read_end_message(const json& message) {
  expect(message, "end");
  return number_field(message, "count", 0, UINT64_MAX);
}

}  // namespace framewire
