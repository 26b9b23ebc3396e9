// The GLSL files of shaders/, embedded in the program.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace framewire {

struct EmbeddedShader {
  std::string_view name;    // path below shaders/: "frame.frag", "scenes/plasma.frag"
  std::string_view source;  // the whole file
};

/// All embedded shaders, sorted by name. Constant. Any thread.
std::span<const EmbeddedShader> embedded_shaders() noexcept;

/// The source of a shader, or nothing if no file of that name existed at build time.
std::optional<std::string_view> find_embedded_shader(std::string_view name) noexcept;

}  // namespace framewire
