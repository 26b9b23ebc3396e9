// Screenshots, as files.
#pragma once

#include <ctime>
#include <string>

#include "viewer/surface.hpp"

namespace framewire {

/// "framewire-20260131-235959.png", local time.
std::string screenshot_name(std::time_t at);

/// Writes a PNG. Throws Error.
void write_screenshot(const std::string& file, const Image& image);

/// The same without replacing what is there: if `file` is, the picture gets a number, as in "NAME-2.png". Returns its
/// file. Throws Error.
std::string write_new_screenshot(const std::string& file, const Image& image);

}  // namespace framewire
