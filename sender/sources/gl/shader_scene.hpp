// Scenes of gl: sources: the built-in ones, or the user's shader file.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace framewire {

struct ShaderScene {
  std::string name;  // "aurora", or the file's path as given
  std::string text;  // a Shadertoy fragment shader: it has mainImage, and neither #version nor main
};

/// The built-in scenes. The first is the cheapest, and the default of `gl:`. Constant.
std::span<const std::string_view> scene_names() noexcept;

/// The scene of a source "gl:", "gl:NAME" or "gl:FILE.frag". Any thread. Throws Error: no such scene (usage; lists the
/// existing ones), or a file that cannot be read, is larger than 1 MiB, is not text, or has no mainImage.
ShaderScene load_scene(std::string_view source);

}  // namespace framewire
