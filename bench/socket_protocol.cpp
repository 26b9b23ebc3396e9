#include "bench/socket_protocol.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "bench/bench_protocol.hpp"

namespace framewire {

using nlohmann::json;

json socket_message(const RowPlan& plan) {
  return {{"type", socket_type},
          {"operation", plan.operation},
          {"message_bytes", plan.message_bytes},
          {"slots", plan.slots},
          {"touch", plan.touches_payload}};
}

RowPlan read_socket_message(const json& message) {
  expect(message, socket_type);
  RowPlan plan;
  plan.transport = socket_transport;
  plan.wait = WaitMode::block;
  plan.is_remote = true;
  plan.operation = text_field(message, "operation");
  if (plan.operation != "stream" && plan.operation != "latency") {
    throw wrong_field(message, "operation", "stream or latency");
  }
  plan.message_bytes = number_field(message, "message_bytes", 1, max_bench_message_bytes);
  plan.slots = static_cast<std::uint32_t>(number_field(message, "slots", 1, max_bench_slots));
  plan.touches_payload = flag_field(message, "touch");
  require_bench_memory(plan.message_bytes, plan.slots);
  return plan;
}

json socket_connect_message(const SocketConnect& connect) {
  return {{"type", "connect"}, {"session", to_hex(connect.session)}, {"token", connect.token}};
}

SocketConnect read_socket_connect_message(const json& message) {
  expect(message, "connect");
  return {.session = session_id_from_hex(text_field(message, "session")), .token = text_field(message, "token")};
}

}  // namespace framewire
