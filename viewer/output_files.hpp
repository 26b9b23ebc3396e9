// Files that the viewer writes when it ends: told early whether they can be.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "viewer/surface.hpp"

namespace framewire {

/// Throws Error now, rather than after an hour, when `file` of option `what` could not be written.
void require_writable(const std::string& file, std::string_view what);

/// "framewire-20260131-235959.png", local time.
std::string screenshot_name(std::time_t at);

/// Writes a PNG. Throws Error.
void write_screenshot(const std::string& file, const Picture& picture);

}  // namespace framewire
