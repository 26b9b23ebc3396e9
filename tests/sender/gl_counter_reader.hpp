// Reads the frame counter that a gl: source draws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/text.hpp"

namespace framewire::test {

/// The text in the top left corner of packed pixels, top row first. Reads luma or green: the first byte is at
/// `first_byte`, pixels are `bytes_per_pixel` apart. Unknown characters become '?'.
std::string read_counter_text(std::span<const std::byte> pixels, Size size, std::size_t bytes_per_pixel,
                              std::size_t first_byte);

/// The frame number in that text.
std::optional<std::uint64_t> read_counter(std::span<const std::byte> pixels, Size size, std::size_t bytes_per_pixel = 4,
                                          std::size_t first_byte = 1);

}  // namespace framewire::test
