// A part of a regular file.
#pragma once

#include <cstdint>

namespace framewire {

/// A payload in a regular file instead of a slot, from an offset; the payload's size is known beside it.
struct FileRange {
  int fd = -1;  // -1: not in a file; else owned by the source, open as long as any link holds the frame
  std::uint64_t offset_bytes = 0;
  [[nodiscard]] bool is_there() const noexcept { return fd >= 0; }
};

}  // namespace framewire
