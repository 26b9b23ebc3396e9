#include "transport/session/message_fields.hpp"

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "transport/session/messages.hpp"

namespace framewire::message_fields {

using nlohmann::json;

Error wrong_field(const json& message, const std::string& field) {
  return Error::failed("the peer's " + quote(message_type(message)) + " message has no usable '" + field + "'");
}

std::string text_field(const json& message, const std::string& field) {
  constexpr std::size_t max_text_bytes = 4096;
  const std::string* text = find_text(message, field, max_text_bytes);
  if (text == nullptr) {
    throw wrong_field(message, field);
  }
  return printable(*text);
}

std::string optional_text_field(const json& message, const std::string& field) {
  return message.contains(field) ? text_field(message, field) : std::string();
}

std::string reason_field(const json& message, const std::string& field) {
  constexpr std::size_t longest = 1000;
  const std::string reason = printable(text_field(message, field), longest);
  return reason.empty() ? "the peer does not say why" : reason;
}

const json& array_field(const json& message, const std::string& field, std::size_t most) {
  const json* found = find_array(message, field, most);
  if (found == nullptr) {
    throw wrong_field(message, field);
  }
  return *found;
}

}  // namespace framewire::message_fields
