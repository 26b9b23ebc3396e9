#include "ssh/message_fields.hpp"

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "transport/json_fields.hpp"

namespace framewire {

std::uint64_t number_in(const nlohmann::json& message, const char* field, std::uint64_t most) {
  if (const auto number = find_unsigned(message, field, 0, most)) {
    return *number;
  }
  throw bad_field(field, "a whole number that is not too large");
}

std::string text_in(const nlohmann::json& message, const char* field) {
  if (const std::string* text = find_text(message, field)) {
    return *text;
  }
  throw bad_field(field, "text");
}

std::uint16_t port_in(const nlohmann::json& message, const char* field) {
  if (const auto port = find_unsigned(message, field, 1, UINT16_MAX)) {
    return static_cast<std::uint16_t>(*port);
  }
  // Only a number is shown: anything else may be of any length and depth.
  const bool is_number = message.contains(field) && message[field].is_number();
  throw Error::failed("the other host says that it listens on port " +
                      (is_number ? message[field].dump() : "'no number'") +
                      ", which is not 1 to 65535; install the same framewire on both hosts");
}

std::string printable_in(const nlohmann::json& message, const char* field) {
  constexpr std::size_t longest = 1000;
  return printable(text_in(message, field), longest);
}

bool flag_in(const nlohmann::json& message, const char* field) {
  if (const auto flag = find_flag(message, field)) {
    return *flag;
  }
  throw bad_field(field, "true or false");
}

std::vector<std::string> texts_in(const nlohmann::json& message, const char* field) {
  std::vector<std::string> texts;
  if (const nlohmann::json* found = find_array(message, field)) {
    constexpr std::size_t max_texts = 1000;
    for (const nlohmann::json& one : *found) {
      if (one.is_string() && texts.size() < max_texts) {
        texts.push_back(one.get<std::string>());
      }
    }
  }
  return texts;
}

Error bad_field(const char* field, const char* wanted) {
  return Error::failed(std::string("a message from the other host has no good field '") + field + "'; it is " + wanted +
                       "; install the same framewire on both hosts");
}

}  // namespace framewire
