// Reads the fields of a peer's messages. Each function throws Error (failed) that names the message and the field if it
// is missing or not usable.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "transport/json_fields.hpp"

namespace framewire::message_fields {

Error wrong_field(const nlohmann::json& message, const std::string& field);

/// Every text may be shown on a terminal, even names, roles and programs; so it is made printable.
std::string text_field(const nlohmann::json& message, const std::string& field);
/// The same; empty if it is missing.
std::string optional_text_field(const nlohmann::json& message, const std::string& field);
/// The peer's reason for users.
std::string reason_field(const nlohmann::json& message, const std::string& field);

template <typename Number>
Number number_field(const nlohmann::json& message, const std::string& field) {
  if (const auto value = find_unsigned(message, field); value && std::in_range<Number>(*value)) {
    return static_cast<Number>(*value);
  }
  if (const auto value = find_signed(message, field); value && std::in_range<Number>(*value)) {
    return static_cast<Number>(*value);
  }
  throw wrong_field(message, field);
}

/// An array of `most` entries at most. It lives as long as the message.
const nlohmann::json& array_field(const nlohmann::json& message, const std::string& field, std::size_t most);

}  // namespace framewire::message_fields
