// The fields of JSON objects that come from elsewhere: a peer, another program. Each is looked for and checked in one
// place; what is said where one is wrong is the reader's matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace framewire {

/// Each gives nothing where there is no such field, or it is of another type, out of range or too long; and where
/// `object` is none.
const std::string* find_text(const nlohmann::json& object, const std::string& field, std::size_t max_bytes = SIZE_MAX);
/// A whole number; 1.0 is none.
std::optional<std::uint64_t> find_unsigned(const nlohmann::json& object, const std::string& field,
                                           std::uint64_t low = 0, std::uint64_t high = UINT64_MAX);
std::optional<std::int64_t> find_signed(const nlohmann::json& object, const std::string& field);
/// Any number that is neither infinite nor none.
std::optional<double> find_number(const nlohmann::json& object, const std::string& field);
std::optional<bool> find_flag(const nlohmann::json& object, const std::string& field);
const nlohmann::json* find_array(const nlohmann::json& object, const std::string& field,
                                 std::size_t max_elements = SIZE_MAX);
const nlohmann::json* find_object(const nlohmann::json& object, const std::string& field);

}  // namespace framewire
