#include "command/json_text.hpp"

#include <nlohmann/json.hpp>

namespace framewire {

nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}

}  // namespace framewire
