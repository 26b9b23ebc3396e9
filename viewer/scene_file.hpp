// Scenes as files: TOML, which docs/scenes.md describes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "viewer/scene.hpp"

namespace framewire {

constexpr std::size_t max_scene_bytes = 1 << 20;

/// Reads a scene from the text of a file. Any thread. Throws Error (usage) that says where: "NAME:LINE:COLUMN: …", of
/// characters, counted from 1.
Scene parse_scene(std::string_view text, const std::string& name);

/// The text of a scene's file. Never waits for anybody, as a pipe would. Throws Error if it cannot be read, is no
/// regular file or is longer than a scene may be.
std::string read_scene_text(const std::string& file);

/// Both.
Scene read_scene(const std::string& file);

}  // namespace framewire
