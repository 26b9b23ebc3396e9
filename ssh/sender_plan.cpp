#include "ssh/sender_plan.hpp"

#include <nlohmann/json.hpp>
#include <span>

#include "base/error.hpp"
#include "ssh/message_fields.hpp"
#include "transport/control/hex.hpp"

namespace framewire {

nlohmann::json to_json(const SenderPlan& plan) {
  nlohmann::json words = nlohmann::json::array();
  for (const std::string& word : plan.words) {
    words.push_back(to_hex(std::as_bytes(std::span(word))));  // JSON requires UTF-8
  }
  return {{"type", "plan"}, {"protocol", sender_protocol}, {"words", words}, {"key", to_hex(plan.key.bytes())}};
}

SenderPlan sender_plan_from(const nlohmann::json& message) {
  if (text_in(message, "type") != "plan" || number_in(message, "protocol") != sender_protocol) {
    throw Error::failed("the viewer is of another version of framewire; install the same one on both hosts");
  }
  SenderPlan plan;
  for (const std::string& digits : texts_in(message, "words")) {
    std::string word(digits.size() / 2, '\0');
    // A program's argument ends at a zero byte.
    if (!read_hex(digits, std::as_writable_bytes(std::span(word))) || word.find('\0') != std::string::npos) {
      throw bad_field("words", "a list of hexadecimal digits");
    }
    plan.words.push_back(std::move(word));
  }
  if (!read_hex(text_in(message, "key"), plan.key.bytes())) {
    throw bad_field("key", "64 hexadecimal digits");
  }
  return plan;
}

}  // namespace framewire
