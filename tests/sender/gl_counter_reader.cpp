#include "tests/sender/gl_counter_reader.hpp"

#include <bit>
#include <string_view>

#include "gl/counter_text.hpp"

namespace framewire::test {

namespace {

constexpr int white_from = 160;  // of 255, limited or full range

char character_of(std::uint64_t dots) {
  for (const char candidate : std::string_view("0123456789.aefmrs ")) {
    if (glyph(candidate) == dots) {
      return candidate;
    }
  }
  return '?';
}

}  // namespace

std::string read_counter_text(std::span<const std::byte> pixels, Size size, std::size_t bytes_per_pixel,
                              std::size_t first_byte) {
  const CounterPlace place = counter_place(size);
  std::string text;
  for (std::size_t i = 0; i < 24 && place.left + (i + 1) * counter_cell_side * place.scale <= size.width; ++i) {
    std::uint64_t dots = 0;
    for (std::size_t dot = 0; dot < 64; ++dot) {
      const std::size_t x = place.left + (i * counter_cell_side + dot % 8) * place.scale + place.scale / 2;
      const std::size_t y = place.top + dot / 8 * place.scale + place.scale / 2;
      const auto value = std::to_integer<int>(pixels[(y * size.width + x) * bytes_per_pixel + first_byte]);
      dots |= std::uint64_t{value >= white_from} << dot;
    }
    text += character_of(dots);
  }
  return text;
}

std::optional<std::uint64_t> read_counter(std::span<const std::byte> pixels, Size size, std::size_t bytes_per_pixel,
                                          std::size_t first_byte) {
  const std::string text = read_counter_text(pixels, size, bytes_per_pixel, first_byte);
  constexpr std::string_view before = "frame ";
  if (!text.starts_with(before)) {
    return std::nullopt;
  }
  try {
    return std::stoull(text.substr(before.size()));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace framewire::test
