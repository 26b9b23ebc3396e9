// Screenshots, as files.
#pragma once

#include <string>

#include "viewer/surface.hpp"

namespace framewire {

/// Throws Error if there is an `error`, which says why there is no picture for the file.
void require_picture(const std::string& file, const std::string& error);

/// Writes a PNG. Throws Error.
void write_screenshot(const std::string& file, const Image& image);

/// The same into a new file, as claim_new_file(). Returns its name. Throws Error.
std::string write_new_screenshot(const std::string& file, const Image& image);

}  // namespace framewire
