// What the stand-in for NVDEC "decodes": pictures that tell their place in the film, and each of their samples its own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace framewire::test {

/// A sample of the picture that is `number`th in the order of display. `plane` counts those of the pixel format, and
/// `x` bytes, or samples where these have two bytes.
constexpr unsigned decoded_sample(unsigned number, unsigned plane, std::size_t x, std::size_t y) noexcept {
  return static_cast<unsigned>(number * 37 + plane * 101 + x * 3 + y * 5);
}

constexpr std::uint8_t decoded_8_bit(unsigned number, unsigned plane, std::size_t x, std::size_t y) noexcept {
  return static_cast<std::uint8_t>(decoded_sample(number, plane, x, y));
}

/// 10 bits at the upper end, as in p010le.
constexpr std::uint16_t decoded_10_bit(unsigned number, unsigned plane, std::size_t x, std::size_t y) noexcept {
  return static_cast<std::uint16_t>((decoded_sample(number, plane, x, y) & 0x3FFU) << 6U);
}

}  // namespace framewire::test
