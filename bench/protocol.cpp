#include "bench/protocol.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "bench/xdp/frame_rows.hpp"
#include "transport/control/hex.hpp"
#include "transport/json_fields.hpp"
#include "transport/session/messages.hpp"
#include "transport/session/pending_data_connection.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

using nlohmann::json;

void require_bench_memory(std::uint64_t message_bytes, std::uint64_t slots) {
  if (slots * message_bytes > max_bench_memory_bytes) {
    throw Error::failed(std::to_string(slots) + " slots of " + std::to_string(message_bytes) +
                        " bytes are too much: a server gives " + std::to_string(max_bench_memory_bytes >> 30) +
                        " GiB; take fewer --slots");
  }
}

Error wrong_field(const json& message, const std::string& field, const std::string& what_it_takes) {
  return Error::failed("the '" + field + "' of a " + quote(message_type(message)) + " message takes " + what_it_takes);
}

std::uint64_t number_field(const json& message, const std::string& field, std::uint64_t low, std::uint64_t high) {
  if (const auto number = find_unsigned(message, field, low, high)) {
    return *number;
  }
  throw wrong_field(message, field, std::to_string(low) + " to " + std::to_string(high));
}

std::string text_field(const json& message, const std::string& field) {
  constexpr std::size_t max_bytes = 4096;
  if (const std::string* text = find_text(message, field, max_bytes)) {
    return printable(*text);
  }
  throw wrong_field(message, field, "a short text");
}

bool flag_field(const json& message, const std::string& field) {
  if (const auto flag = find_flag(message, field)) {
    return *flag;
  }
  throw wrong_field(message, field, "true or false");
}

WaitMode wait_field(const json& message) {
  const std::string said = text_field(message, "wait");
  for (const WaitMode mode : {WaitMode::adaptive, WaitMode::spin, WaitMode::block}) {
    if (said == name(mode)) {
      return mode;
    }
  }
  throw wrong_field(message, "wait", "adaptive, spin or block");
}

void expect(const json& message, const std::string& type) {
  throw_if_fault(message);
  expect_type(message, type);
}

json fault_message(const std::string& text) {
  return {{"type", "fault"}, {"text", text}};
}

void throw_if_fault(const json& message) {
  throw_if_refused(message);
  if (message_type(message) == "fault") {
    throw Error::failed("the server: " + printable(text_field(message, "text"), 1000));
  }
}

json result_message(const std::string& result_json) {
  return {{"type", "result"}, {"result", json::parse(result_json)}};
}

std::string read_result_message(const json& message) {
  expect(message, "result");
  if (const json* found = find_object(message, "result")) {
    return found->dump();
  }
  throw wrong_field(message, "result", "an object");
}

// ---- A reverse row: the server sends ----

namespace {

constexpr std::int64_t answer_timeout_ns = 10 * ns_per_s;
constexpr std::uint64_t max_rate_per_s = 1'000'000;
constexpr std::uint64_t longest_row_ns = std::uint64_t{86'400} * ns_per_s;

std::string operation_field(const json& message) {
  std::string operation = text_field(message, "operation");
  if (operation != "stream" && operation != "latency") {
    throw wrong_field(message, "operation", "stream or latency");
  }
  return operation;
}

void require_possible(const RowPlan& plan) {
  if (plan.count == 0 && plan.duration_ns == 0) {
    throw Error::failed("the row has neither 'count' nor 'duration_ns'; give one of them");
  }
  require_bench_memory(plan.message_bytes, plan.slots);  // a pool may have up to four slots more
}

}  // namespace

json reverse_message(const RowPlan& plan) {
  return {{"type", reverse_type},
          {"operation", plan.operation},
          {"message_bytes", plan.message_bytes},
          {"count", plan.count},
          {"duration_ns", static_cast<std::uint64_t>(plan.duration_ns)},
          {"slots", plan.slots},
          {"rate_per_s", static_cast<std::uint64_t>(plan.rate_per_s)},
          {"wait", name(plan.wait)},
          {"touch", plan.touches_payload}};
}

RowPlan read_reverse_message(const json& message) {
  expect(message, reverse_type);
  RowPlan plan;
  plan.operation = operation_field(message);
  plan.message_bytes = number_field(message, "message_bytes", 1, max_bench_message_bytes);
  plan.count = number_field(message, "count", 0, UINT64_MAX);
  plan.duration_ns = static_cast<std::int64_t>(number_field(message, "duration_ns", 0, longest_row_ns));
  plan.slots = static_cast<std::uint32_t>(number_field(message, "slots", 1, max_bench_slots));
  plan.rate_per_s = static_cast<double>(number_field(message, "rate_per_s", 0, max_rate_per_s));
  plan.wait = wait_field(message);
  plan.touches_payload = flag_field(message, "touch");
  plan.is_reverse = true;
  require_possible(plan);
  return plan;
}

json reverse_answer() {
  return {{"type", "sending"}};
}

void request_reverse_row(MessageChannel& channel, const RowPlan& plan) {
  channel.send(reverse_message(plan));
  const json answer = channel.receive(monotonic_ns() + answer_timeout_ns);
  if (message_type(answer) == "refused") {
    // A newer server sends "fault" when it does not accept the row.
    throw Error::refused("the bench server at " + channel.peer() +
                         " is of an older release, which only receives; update it, or leave --reverse out");
  }
  expect(answer, "sending");
}

// ---- A row of plain sockets ----

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
  plan.operation = operation_field(message);
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

// ---- A row of Ethernet frames ----

namespace {

/// Room for a header and some payload; the largest frames that an XDP socket takes are one page.
constexpr std::uint64_t min_frame_bytes = 64;
constexpr std::uint64_t max_frame_bytes = 4096;

XdpMode mode_field(const json& message) {
  if (const auto mode = xdp_mode_from_name(text_field(message, "mode"))) {
    return *mode;
  }
  throw wrong_field(message, "mode", "generic or native");
}

}  // namespace

json xdp_message(const RowPlan& plan) {
  return {{"type", xdp_type},        {"operation", plan.operation},  {"message_bytes", plan.message_bytes},
          {"slots", plan.slots},     {"mode", name(plan.mode)},      {"batch", plan.batch},
          {"wait", name(plan.wait)}, {"touch", plan.touches_payload}};
}

RowPlan read_xdp_message(const json& message) {
  expect(message, xdp_type);
  RowPlan plan;
  plan.transport = xdp_transport;
  plan.is_remote = true;
  plan.operation = operation_field(message);
  plan.message_bytes = number_field(message, "message_bytes", 1, max_bench_message_bytes);
  plan.slots = static_cast<std::uint32_t>(number_field(message, "slots", 1, max_frame_slots));
  plan.mode = mode_field(message);
  plan.batch = static_cast<std::uint32_t>(number_field(message, "batch", 1, max_frame_slots));
  plan.wait = wait_field(message);
  plan.touches_payload = flag_field(message, "touch");
  require_bench_memory(plan.message_bytes, 1);
  return plan;
}

json xdp_end_message(const XdpEnd& end) {
  return {{"type", "interface"},
          {"mac", to_hex(end.mac)},
          {"frame_bytes", end.frame_bytes},
          {"row", end.row},
          {"zero_copy", end.is_zero_copy}};
}

XdpEnd read_xdp_end_message(const json& message) {
  expect(message, "interface");
  XdpEnd end{.frame_bytes = number_field(message, "frame_bytes", min_frame_bytes, max_frame_bytes),
             .row = static_cast<std::uint32_t>(number_field(message, "row", 0, UINT32_MAX)),
             .is_zero_copy = flag_field(message, "zero_copy")};
  if (!read_hex(text_field(message, "mac"), end.mac)) {
    throw wrong_field(message, "mac", "twelve hexadecimal digits");
  }
  return end;
}

// ---- A row of verbs ----

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
  json message{{"type", "connect"}, {"session", to_hex(connect.session)}, {"token", connect.token}};
  add_link_fields(message, LinkKind::rdma, connect.listener);
  return message;
}

VerbsConnect read_connect_message(const json& message) {
  expect(message, "connect");
  return {.session = session_id_from_hex(text_field(message, "session")),
          .token = text_field(message, "token"),
          .listener = read_link_fields(message, LinkKind::rdma)};
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

// ---- A row's client, as its server sees it ----

std::optional<json> poll_client(MessageChannel& channel, std::int64_t peer_timeout_ns) {
  auto message = channel.try_receive();
  if (!message && tcp_peer_is_silent(channel.fd(), peer_timeout_ns)) {
    throw Error::lost_peer("the client's host does not answer");
  }
  return message;
}

// ---- The data connection of a row, on the server ----

IncomingDataConnection await_bench_data(SessionAcceptor& acceptor, const DataConnectionId& connection,
                                        MessageChannel& channel) {
  for (PendingDataConnection wait(acceptor, connection, channel);;) {
    if (auto incoming = wait.next()) {
      return std::move(*incoming);
    }
    if (wait.message() != nullptr) {
      throw Error::failed("the client said " + message_type(*wait.message()) + " instead of connecting");
    }
  }
}

}  // namespace framewire
