// Screenshots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace framewire {

/// Writes `width` x `height` pixels of 4 bytes (r, g, b, a; rows packed, top first) as a PNG file. The file is replaced
/// atomically: it is written beside `path` and renamed over it. Returns an error message, or nothing on success. Any
/// thread; takes tens of milliseconds for a large picture.
std::optional<std::string> write_png(const std::string& path, std::uint32_t width, std::uint32_t height,
                                     std::span<const std::byte> rgba) noexcept;

}  // namespace framewire
