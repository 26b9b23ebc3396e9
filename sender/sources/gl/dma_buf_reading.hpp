// Decoded pictures in a GPU's memory, read by that GPU's OpenGL.
#pragma once

#include <memory>
#include <string>

#include "memory/dma_buf_reader.hpp"

namespace framewire {

/// An OpenDmaBufReader. Loads EGL.
std::unique_ptr<DmaBufReader> open_dma_buf_reader(const std::string& drm_node);

}  // namespace framewire
