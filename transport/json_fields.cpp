#include "transport/json_fields.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace framewire {

namespace {

using nlohmann::json;

/// Null when there is no such field.
const json* find_field(const json& object, const std::string& field) {
  const auto found = object.is_object() ? object.find(field) : object.end();
  return found == object.end() ? nullptr : &*found;
}

}  // namespace

const std::string* find_text(const json& object, const std::string& field, std::size_t max_bytes) {
  const json* found = find_field(object, field);
  const std::string* text = found != nullptr ? found->get_ptr<const std::string*>() : nullptr;
  return text != nullptr && text->size() <= max_bytes ? text : nullptr;
}

std::optional<std::uint64_t> find_unsigned(const json& object, const std::string& field, std::uint64_t low,
                                           std::uint64_t high) {
  const json* found = find_field(object, field);
  if (found == nullptr || !found->is_number_unsigned()) {
    return std::nullopt;
  }
  const auto number = found->get<std::uint64_t>();
  return number >= low && number <= high ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> find_signed(const json& object, const std::string& field) {
  if (const auto number = find_unsigned(object, field, 0, INT64_MAX)) {
    return static_cast<std::int64_t>(*number);
  }
  const json* found = find_field(object, field);
  const bool is_negative = found != nullptr && found->is_number_integer() && !found->is_number_unsigned();
  return is_negative ? std::optional(found->get<std::int64_t>()) : std::nullopt;
}

std::optional<double> find_number(const json& object, const std::string& field) {
  const json* found = find_field(object, field);
  if (found == nullptr || !found->is_number()) {
    return std::nullopt;
  }
  const auto number = found->get<double>();
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::optional<bool> find_flag(const json& object, const std::string& field) {
  const json* found = find_field(object, field);
  return found != nullptr && found->is_boolean() ? std::optional(found->get<bool>()) : std::nullopt;
}

const json* find_array(const json& object, const std::string& field, std::size_t max_elements) {
  const json* found = find_field(object, field);
  return found != nullptr && found->is_array() && found->size() <= max_elements ? found : nullptr;
}

const json* find_object(const json& object, const std::string& field) {
  const json* found = find_field(object, field);
  return found != nullptr && found->is_object() ? found : nullptr;
}

}  // namespace framewire
