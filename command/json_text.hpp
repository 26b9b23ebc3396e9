// JSON values that several reports write.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace framewire {

/// Null for an empty text: it is not known, or there is none.
nlohmann::ordered_json text_or_null(const std::string& text);

/// On one line. A peer's text need not be UTF-8: what is not is replaced.
std::string to_line(const nlohmann::ordered_json& json);

}  // namespace framewire
