#include "bench/bench_protocol.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "transport/control/json_fields.hpp"
#include "transport/session/messages.hpp"

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

}  // namespace framewire
