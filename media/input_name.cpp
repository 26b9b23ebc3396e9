#include "media/input_name.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <system_error>

namespace framewire {

std::optional<std::pair<std::string, std::string>> split_prefix(const std::string& name) {
  const auto colon = name.find(':');
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '+' || c == '-' || c == ',';
  };
  if (colon == std::string::npos || colon < 2 ||
      !std::all_of(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(colon), is_plain)) {
    return std::nullopt;
  }
  return std::pair{name.substr(0, colon), name.substr(colon + 1)};
}

std::optional<std::string> input_file(const std::string& name, const std::string& folder) {
  const std::filesystem::path base(folder);
  std::error_code ignored;
  const auto prefix = std::filesystem::exists(base / name, ignored) ? std::nullopt : split_prefix(name);
  if (!prefix) {
    return (base / name).string();
  }
  return prefix->first == "file" ? std::optional((base / prefix->second).string()) : std::nullopt;
}

}  // namespace framewire
