// The fields of the messages that processes of framewire on different hosts send each other by ssh, checked.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace framewire {

/// These throw Error (failed) that names the field.
std::uint64_t number_in(const nlohmann::json& message, const char* field, std::uint64_t most = UINT64_MAX);
std::string text_in(const nlohmann::json& message, const char* field);
/// Where a program of the other host listens: 1 … 65535.
std::uint16_t port_in(const nlohmann::json& message, const char* field);
/// One line without control characters, so that a peer's text cannot imitate other output.
std::string printable_in(const nlohmann::json& message, const char* field);
bool flag_in(const nlohmann::json& message, const char* field);

/// The strings in a list, up to a limit; empty if there is no such list.
std::vector<std::string> texts_in(const nlohmann::json& message, const char* field);

/// The error for a field that is not what is `wanted`.
Error bad_field(const char* field, const char* wanted);

}  // namespace framewire
