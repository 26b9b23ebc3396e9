// JSON values that several reports write.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace framewire {

/// Null for an empty text: it is not known, or there is none.
nlohmann::ordered_json text_or_null(const std::string& text);

}  // namespace framewire
