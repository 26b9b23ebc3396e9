#include "frame/test_pattern.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace framewire {

namespace {

/// The finaliser of splitmix64 (Steele, Lea, Flood 2014): neighbouring sequences and lines give unrelated stamps.
std::uint64_t stamp_of(std::uint64_t sequence, std::uint64_t line) noexcept {
  std::uint64_t z = sequence * 0x9e3779b97f4a7c15U + line;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

using Line = std::array<std::uint64_t, test_line_bytes / sizeof(std::uint64_t)>;

Line line_of(std::uint64_t sequence, std::uint64_t index) noexcept {
  Line line;
  line.fill(stamp_of(sequence, index));
  return line;
}

}  // namespace

void write_test_lines(std::span<std::byte> payload, std::uint64_t sequence, std::uint64_t first_line) noexcept {
  for (std::uint64_t index = first_line; !payload.empty(); ++index) {
    const Line line = line_of(sequence, index);
    const std::size_t size = std::min(payload.size(), test_line_bytes);
    std::memcpy(payload.data(), line.data(), size);
    payload = payload.subspan(size);
  }
}

std::optional<std::uint64_t> find_torn_line(std::span<const std::byte> payload, std::uint64_t sequence,
                                            std::uint64_t first_line) noexcept {
  for (std::uint64_t index = first_line; !payload.empty(); ++index) {
    const Line line = line_of(sequence, index);
    const std::size_t size = std::min(payload.size(), test_line_bytes);
    if (std::memcmp(payload.data(), line.data(), size) != 0) {
      return index;
    }
    payload = payload.subspan(size);
  }
  return std::nullopt;
}

void write_test_marks(std::span<std::byte> payload, std::uint64_t sequence, std::size_t every_bytes,
                      std::uint64_t first_byte) noexcept {
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= payload.size(); at += every_bytes) {
    const std::uint64_t value = stamp_of(sequence, first_byte + at);
    std::memcpy(payload.data() + at, &value, sizeof value);
  }
}

std::optional<std::uint64_t> find_torn_mark(std::span<const std::byte> payload, std::uint64_t sequence,
                                            std::size_t every_bytes) noexcept {
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= payload.size(); at += every_bytes) {
    const std::uint64_t value = stamp_of(sequence, at);
    if (std::memcmp(payload.data() + at, &value, sizeof value) != 0) {
      return at / every_bytes;
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> find_torn_byte(std::span<const std::byte> payload, std::uint64_t sequence,
                                            std::uint64_t user_tag) noexcept {
  std::optional<std::uint64_t> torn;
  std::uint64_t unit_bytes = 1;
  if (user_tag == test_marks_tag) {
    torn = find_torn_mark(payload, sequence, test_mark_bytes);
    unit_bytes = test_mark_bytes;
  } else if (user_tag == test_lines_tag) {
    torn = find_torn_line(payload, sequence);
    unit_bytes = test_line_bytes;
  } else {
    torn = 0;
  }
  return torn ? std::optional(*torn * unit_bytes) : std::nullopt;
}

}  // namespace framewire
