// Reads and checks the fields of JSON objects from a peer or another program. The caller words the error message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace framewire {

/// Each returns nothing (or null) when `object` is not an object, or the field is missing, has another type, is out of
/// range or is too long.
const std::string* find_text(const nlohmann::json& object, const std::string& field, std::size_t max_bytes = SIZE_MAX);
/// An integer; 1.0 is not one.
std::optional<std::uint64_t> find_unsigned(const nlohmann::json& object, const std::string& field,
                                           std::uint64_t low = 0, std::uint64_t high = UINT64_MAX);
std::optional<std::int64_t> find_signed(const nlohmann::json& object, const std::string& field);
/// Any finite number.
std::optional<double> find_number(const nlohmann::json& object, const std::string& field);
std::optional<bool> find_flag(const nlohmann::json& object, const std::string& field);
const nlohmann::json* find_array(const nlohmann::json& object, const std::string& field,
                                 std::size_t max_elements = SIZE_MAX);
const nlohmann::json* find_object(const nlohmann::json& object, const std::string& field);

}  // namespace framewire
