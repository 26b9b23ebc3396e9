#include "bench/guest_messages.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "transport/session/messages.hpp"

namespace framewire {

using nlohmann::json;

void require_guest_memory(std::uint64_t message_bytes, std::uint64_t slots) {
  if (slots * message_bytes > most_guest_memory_bytes) {
    throw Error::failed(std::to_string(slots) + " slots of " + std::to_string(message_bytes) +
                        " bytes are too much: a server gives " + std::to_string(most_guest_memory_bytes >> 30) +
                        " GiB; take fewer --slots");
  }
}

Error wrong_field(const json& message, const std::string& field, const std::string& what_it_takes) {
  return Error::failed("the '" + field + "' of a " + quote(message_type(message)) + " message takes " + what_it_takes);
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
  return printable(found->get_ref<const std::string&>());
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

void expect(const json& message, const std::string& type) {
  throw_if_fault(message);
  expect_type(message, type);
}

json fault_message(const std::string& sentence) {
  return {{"type", "fault"}, {"text", sentence}};
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
  const auto found = message.find("result");
  if (found == message.end() || !found->is_object()) {
    throw wrong_field(message, "result", "an object");
  }
  return found->dump();
}

}  // namespace framewire
