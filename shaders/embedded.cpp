#include "shaders/embedded.hpp"

#include <algorithm>

namespace framewire {

std::optional<std::string_view> find_embedded_shader(std::string_view name) noexcept {
  const auto shaders = embedded_shaders();
  const auto found = std::ranges::find(shaders, name, &EmbeddedShader::name);
  return found != shaders.end() ? std::optional(found->source) : std::nullopt;
}

}  // namespace framewire
