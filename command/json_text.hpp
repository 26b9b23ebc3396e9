// JSON helpers that several reports share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace framewire {

/// Null for an empty text, which means "not known" or "none".
nlohmann::ordered_json text_or_null(const std::string& text);

/// The JSON on one line. A peer's text may be invalid UTF-8; invalid bytes are replaced.
std::string to_line(const nlohmann::ordered_json& json);

}  // namespace framewire
