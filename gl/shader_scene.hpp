// Scenes of gl: sources: the built-in ones, or the user's shader file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace framewire {

struct ShaderScene {
  std::string name;                 // "aurora", or the file's path as given
  std::string text;                 // a Shadertoy fragment shader: it has mainImage, and neither #version nor main
  std::uint32_t parts = all_parts;  // bit i: part i + 1 is drawn; what a part is, the shader says

  static constexpr std::uint32_t all_parts = 0xffffffff;

  /// Whether it defines mainImageDepth, which also says how far each pixel is (docs/shadertoy.md).
  [[nodiscard]] bool has_depth() const noexcept { return text.find("mainImageDepth") != std::string::npos; }
};

/// The built-in scenes. The first is the cheapest, and the default of `gl:`. Constant.
std::span<const std::string_view> scene_names() noexcept;

/// The scene of a source "gl:", "gl:NAME" or "gl:FILE.frag", or some parts of it: "gl:NAME:1,3". Any thread. Throws
/// Error: no such scene (usage; lists the existing ones), parts that are not 1 to 32, or a file that cannot be read, is
/// larger than 1 MiB, is not text, or has no mainImage. `folder`: where relative paths begin; empty: in the working
/// directory.
ShaderScene load_scene(std::string_view source, const std::string& folder = {});

/// The file that load_scene() reads, which may be missing; nothing if the scene is a built-in one.
std::optional<std::string> shader_file(std::string_view source, const std::string& folder = {});

/// "gl:NAME:1,3" without its parts, and the parts as they stand there; empty: it names none.
struct SceneName {
  std::string_view scene;
  std::string_view parts;
};
SceneName split_parts(std::string_view source) noexcept;

}  // namespace framewire
