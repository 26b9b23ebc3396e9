// The messages of the control channel that carry input, and what the programs of both ends say to each other, as
// messages.hpp has the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "input/events.hpp"

namespace framewire {

/// From the viewer: its input for the stream's source, which read_input() reads.
nlohmann::json input_message(const InputBatch& batch);
/// From the sender: why the source takes no input of this viewer; empty: now it does.
nlohmann::json no_input(const std::string& text);
std::string read_no_input(const nlohmann::json& message);

inline constexpr std::size_t max_message_body_bytes = std::size_t{64} * 1024;

/// From either side: a JSON object of the programs' own.
nlohmann::json program_message(const std::string& body);
/// The body, as a line of JSON.
std::string read_program_message(const nlohmann::json& message);
/// From the sender: why it takes no messages.
nlohmann::json no_message(const std::string& text);
std::string read_no_message(const nlohmann::json& message);

/// A text as the body of a message, written as one line. Nullopt: it is no JSON object, nests deeper than messages may,
/// or has more than max_message_body_bytes.
std::optional<std::string> checked_body(std::string_view text);

/// A message as a program reads it, which is not ours: {"viewer", "stream", "body"}, one line of JSON without its end.
/// An empty stream and a viewer of 0 are left out.
std::string message_line(const std::string& body, const std::string& stream, std::uint64_t viewer = 0);
/// A message as such a program writes it: {"stream", "body"}, or the body itself for all streams.
struct MessageLine {
  std::string stream;  // empty: none is named
  std::string body;
};
/// Nullopt: there is no body, as checked_body() says.
std::optional<MessageLine> read_message_line(std::string_view line);

}  // namespace framewire
