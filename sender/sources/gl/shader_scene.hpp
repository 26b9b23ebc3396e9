// What a gl: source draws: one of the built-in scenes, or a shader file of the user's.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace framewire {

struct ShaderScene {
  std::string name;  // "aurora", or the file's path as given
  std::string text;  // a fragment shader in the manner of Shadertoy: it has mainImage and neither #version nor main
};

/// The built-in scenes; the first is the one that `gl:` alone means, and the cheapest. Constant.
std::span<const std::string_view> scene_names() noexcept;

/// The scene of a source "gl:", "gl:NAME" or "gl:FILE.frag". Any thread. Throws Error: no such scene (usage; lists
/// those there are), a file that cannot be read, is larger than 1 MiB or no text, or has no mainImage.
ShaderScene load_scene(std::string_view source);

}  // namespace framewire
