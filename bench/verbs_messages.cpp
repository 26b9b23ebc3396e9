#include "bench/verbs_messages.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "transport/session/messages.hpp"

namespace framewire {

namespace {

using nlohmann::json;

Error wrong_field(const json& message, const std::string& field, const std::string& what_it_takes) {
  return Error::failed("the '" + field + "' of a '" + message_type(message) + "' message takes " + what_it_takes);
}

std::uint64_t number_field(const json& message, const std::string& field, std::uint64_t low, std::uint64_t high) {
  const auto found = message.find(field);
  if (found == message.end() || !found->is_number_unsigned() || found->get<std::uint64_t>() < low ||
      found->get<std::uint64_t>() > high) {
    throw wrong_field(message, field, std::to_string(low) + " to " + std::to_string(high));
  }
  return found->get<std::uint64_t>();
}

std::string text_field(const json& message, const std::string& field) {
  const auto found = message.find(field);
  constexpr std::size_t most_bytes = 4096;
  if (found == message.end() || !found->is_string() || found->get_ref<const std::string&>().size() > most_bytes) {
    throw wrong_field(message, field, "a short text");
  }
  return found->get<std::string>();
}

bool flag_field(const json& message, const std::string& field) {
  const auto found = message.find(field);
  if (found == message.end() || !found->is_boolean()) {
    throw wrong_field(message, field, "true or false");
  }
  return found->get<bool>();
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

/// An unknown message of a newer peer is no fault anywhere else; here each has its place.
void expect(const json& message, const std::string& type) {
  throw_if_fault(message);
  expect_type(message, type);
}

}  // namespace

json row_message(const RawPlan& plan) {
  return {{"type", "row"},
          {"operation", std::string(name(plan.operation))},
          {"message_bytes", plan.message_bytes},
          {"slots", plan.slots},
          {"wait", name(plan.wait)},
          {"touch", plan.touches_payload}};
}

RawPlan read_row_message(const json& message) {
  expect(message, "row");
  const auto operation = raw_operation_from_name(text_field(message, "operation"));
  if (!operation) {
    throw wrong_field(message, "operation", "send, write, write_imm, read or latency");
  }
  const RawPlan plan{.operation = *operation,
                     .message_bytes = number_field(message, "message_bytes", 1, most_raw_message_bytes),
                     .slots = static_cast<std::uint32_t>(number_field(message, "slots", 1, most_raw_slots)),
                     .wait = wait_field(message),
                     .touches_payload = flag_field(message, "touch")};
  require_possible(plan);
  return plan;
}

json connect_message(const RawConnect& connect) {
  return {{"type", "connect"},
          {"session", to_hex(connect.session)},
          {"token", connect.token},
          {"rdma_port", connect.rdma_port}};
}

RawConnect read_connect_message(const json& message) {
  expect(message, "connect");
  return {.session = session_id_from_hex(text_field(message, "session")),
          .token = text_field(message, "token"),
          .rdma_port = static_cast<std::uint16_t>(number_field(message, "rdma_port", 1, UINT16_MAX))};
}

json terms_message(const RawTerms& terms) {
  return {{"type", "terms"}, {"address", terms.address}, {"key", terms.key}, {"chunk_bytes", terms.chunk_bytes}};
}

RawTerms read_terms_message(const json& message) {
  expect(message, "terms");
  return {.address = number_field(message, "address", 0, UINT64_MAX),
          .key = static_cast<std::uint32_t>(number_field(message, "key", 0, UINT32_MAX)),
          .chunk_bytes = number_field(message, "chunk_bytes", least_raw_chunk_bytes, UINT32_MAX)};
}

json end_message(std::uint64_t count) {
  return {{"type", "end"}, {"count", count}};
}

std::uint64_t read_end_message(const json& message) {
  expect(message, "end");
  return number_field(message, "count", 0, UINT64_MAX);
}

json result_message(const std::string& result_json) {
  return {{"type", "result"}, {"result", json::parse(result_json)}};
}

std::string read_result_message(const json& message) {
  expect(message, "result");
  const auto found = message.find("result");
  if (found == message.end() || !found->is_object()) {
    throw wrong_field(message, "result", "an object");
  }
  return found->dump();
}

json fault_message(const std::string& sentence) {
  return {{"type", "fault"}, {"text", sentence}};
}

void throw_if_fault(const json& message) {
  throw_if_refused(message);
  if (message_type(message) == "fault") {
    throw Error::failed("the server: " + text_field(message, "text"));
  }
}

}  // namespace framewire
