// The surface that the options ask for.
#pragma once

#include <memory>
#include <vector>

#include "memory/block.hpp"
#include "viewer/options.hpp"
#include "viewer/surface.hpp"

namespace framewire {

/// A window of 1280x720, or memory of 960x540, unless the options have a size. Throws Error.
std::unique_ptr<Surface> open_surface(const ViewerOptions& options);

/// The devices that its OpenGL draws with, as far as the driver names them. Attaches the surface, and detaches it
/// again. Throws Error.
std::vector<DeviceUuid> devices_that_draw(Surface& surface);

}  // namespace framewire
