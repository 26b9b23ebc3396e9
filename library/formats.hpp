// Formats and views: the C structures, from and to our own.
#pragma once

#include <cstddef>
#include <string_view>

#include "frame/frame_header.hpp"
#include "frame/frame_layout.hpp"
#include "library/include/framewire/framewire.h"

namespace framewire {

fw_format c_format(const StreamFormat& format) noexcept;
/// Throws Failure (FW_ERROR_ARGUMENT) that says which field is wrong.
StreamFormat checked_format(const fw_format* format, const char* function);
/// Fills the fields that `layout` says: pixel_format to plane_count, size_bytes, data and plane. `data` is the slot's
/// memory. The others are 0.
void fill_view(fw_view& view, const FrameLayout& layout, const void* data, bool is_read_only) noexcept;

}  // namespace framewire
