// Reads the counter of a gl: source off a picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/text.hpp"

namespace framewire::test {

/// The text in the top left of packed pixels, top row first, by their luma or green: `bytes_per_pixel` apart, the first
/// at `first_byte`. A character that is none shows as '?'.
std::string read_counter_text(std::span<const std::byte> pixels, Size size, std::size_t bytes_per_pixel,
                              std::size_t first_byte);

/// The frame's number in that text.
std::optional<std::uint64_t> read_counter(std::span<const std::byte> pixels, Size size, std::size_t bytes_per_pixel = 4,
                                          std::size_t first_byte = 1);

}  // namespace framewire::test
