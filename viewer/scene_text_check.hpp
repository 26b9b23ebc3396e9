// What is checked of a scene's text before it is read as TOML.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace framewire {

/// Where something stands, as messages say it: "NAME:LINE:COLUMN", counted from 1.
std::string place_in_scene(const std::string& name, std::size_t line, std::size_t column);

/// Refuses what a scene has no use for and toml++ 3.3 does not stand. The text is read as TOML's grammar has it; where
/// it breaks the grammar, toml++ has stopped already. Throws Error (usage) that says where.
void check_scene_text(std::string_view text, const std::string& name);

}  // namespace framewire
