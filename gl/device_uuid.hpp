// Which device a context of OpenGL draws with (GL_EXT_memory_object).
#pragma once

#include <vector>

#include "gl/gl.hpp"
#include "memory/block.hpp"

namespace framewire {

/// GL's functions of the current context, which glad may not have loaded yet. Null: the driver lacks it.
struct DeviceQueries {
  PFNGLGETINTEGERVPROC get_number = nullptr;          // glGetIntegerv
  PFNGLGETUNSIGNEDBYTEI_VEXTPROC get_uuid = nullptr;  // glGetUnsignedBytei_vEXT
};

/// Those that glad has loaded.
inline DeviceQueries loaded_queries() noexcept {
  return {.get_number = glGetIntegerv, .get_uuid = glGetUnsignedBytei_vEXT};
}

/// The current context's GL_DEVICE_UUID_EXT, at most 16. Where the driver does not know these there are none, and GL
/// may keep an error.
std::vector<DeviceUuid> devices_of_context(const DeviceQueries& queries = loaded_queries());

/// Whether `uuid` is one of them.
bool context_draws_with(const DeviceUuid& uuid, const DeviceQueries& queries);

}  // namespace framewire
