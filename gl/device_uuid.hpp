// Which device a context of OpenGL draws with (GL_EXT_memory_object).
#pragma once

#include "gl/gl.hpp"
#include "memory/block.hpp"

namespace framewire {

/// GL's functions of the current context, which glad may not have loaded yet. Null: the driver lacks it.
struct DeviceQueries {
  PFNGLGETINTEGERVPROC get_number = nullptr;          // glGetIntegerv
  PFNGLGETUNSIGNEDBYTEI_VEXTPROC get_uuid = nullptr;  // glGetUnsignedBytei_vEXT
};

/// Whether `uuid` is one of the current context's GL_DEVICE_UUID_EXT. Where the driver does not know these, it is not,
/// and GL may keep an error.
bool context_draws_with(const DeviceUuid& uuid, const DeviceQueries& queries) noexcept;

}  // namespace framewire
