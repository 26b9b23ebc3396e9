#include "transport/session/input_messages.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "transport/control/message_channel.hpp"
#include "transport/session/message_fields.hpp"
#include "transport/session/messages.hpp"

namespace framewire {

using message_fields::reason_field;
using message_fields::text_field;
using message_fields::wrong_field;
using nlohmann::json;

json input_message(const InputBatch& batch) {
  json message = to_json(batch);
  message["type"] = "input";
  return message;
}

json no_input(const std::string& text) {
  return {{"type", "no_input"}, {"text", text}};
}

std::string read_no_input(const json& message) {
  expect_type(message, "no_input");
  return text_field(message, "text").empty() ? std::string() : reason_field(message, "text");
}

json program_message(const std::string& body) {
  return {{"type", "message"}, {"body", json::parse(body)}};
}

std::string read_program_message(const json& message) {
  expect_type(message, "message");
  const json* const body = find_object(message, "body");
  std::string text = body != nullptr ? body->dump() : std::string();
  if (text.empty() || text.size() > max_message_body_bytes) {
    throw wrong_field(message, "body");
  }
  return text;
}

json no_message(const std::string& text) {
  return {{"type", "no_message"}, {"text", text}};
}

std::string read_no_message(const json& message) {
  expect_type(message, "no_message");
  return text_field(message, "text").empty() ? std::string() : reason_field(message, "text");
}

std::optional<std::string> checked_body(std::string_view text) {
  // One level is the message's own.
  if (text.size() > max_message_body_bytes || nests_deeper(text, message_depth_limit - 1) ||
      text.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  const json body = json::parse(text, nullptr, false);
  if (!body.is_object()) {
    return std::nullopt;
  }
  std::string line = body.dump();
  return line.size() <= max_message_body_bytes ? std::optional(std::move(line)) : std::nullopt;
}

std::string message_line(const std::string& body, const std::string& stream, std::uint64_t viewer) {
  json line{{"body", json::parse(body)}};
  if (viewer != 0) {
    line["viewer"] = viewer;
  }
  if (!stream.empty()) {
    line["stream"] = stream;
  }
  // A terminal would obey controls, those of one byte and those of C1.
  return line.dump(-1, ' ', true);
}

std::optional<MessageLine> read_message_line(std::string_view line) {
  auto body = checked_body(line);
  if (!body) {
    return std::nullopt;
  }
  const json object = json::parse(*body);
  const std::string* const stream = find_text(object, "stream");
  const json* const inner = find_object(object, "body");
  // A stream without a name cannot be meant.
  return stream != nullptr && !stream->empty() && inner != nullptr && object.size() == 2
             ? MessageLine{*stream, inner->dump()}
             : MessageLine{{}, std::move(*body)};
}

}  // namespace framewire
