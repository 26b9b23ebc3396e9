// Screenshots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace framewire {

/// Writes `width` x `height` pixels of 4 bytes (r, g, b, a; rows packed, top first) as a PNG file. The file appears
/// whole or not at all: it is written beside `path` and renamed over it. Returns the sentence that says what went
/// wrong, or nothing. Any thread; takes tens of milliseconds for a large picture.
std::optional<std::string> write_png(const std::string& path, std::uint32_t width, std::uint32_t height,
                                     std::span<const std::byte> rgba) noexcept;

}  // namespace framewire
