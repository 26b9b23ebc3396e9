// Formats and views: the C structures, from and to our own.
#pragma once

#include <cstddef>
#include <cstring>
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
/// The same picture at another place.
inline void move_view(fw_view& view, void* data) noexcept {
  view.data = data;
  for (std::uint32_t i = 0; i < view.plane_count && i < FW_MAX_PLANES; ++i) {
    view.plane[i].data = static_cast<char*>(data) + view.plane[i].offset_bytes;
  }
}

/// Copies a view. The size is hidden from the compiler: for one that it knows it would take string instructions, which
/// take longer to begin than the C library's copy takes as a whole.
inline void copy_view(const fw_view& from, fw_view& to) noexcept {
  std::size_t size = sizeof from;
  asm("" : "+r"(size));
  std::memcpy(&to, &from, size);
}

}  // namespace framewire
