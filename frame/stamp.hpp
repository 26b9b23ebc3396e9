// Stamped payloads: the test pattern that makes a torn, stale or repeated frame visible to a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace framewire {

inline constexpr std::size_t stamp_line_bytes = 64;

/// Fills `payload` with lines of 64 bytes, each a repeated mix of (sequence, line index). A rest shorter than a line is stamped too.
void stamp(std::span<std::byte> payload, std::uint64_t sequence) noexcept;

/// The index of the first line that does not carry the stamp of `sequence`, or nothing if all do.
std::optional<std::uint64_t> find_torn_line(std::span<const std::byte> payload, std::uint64_t sequence) noexcept;

/// Writes the stamp of `sequence` into the first 8 bytes of each line only (the rest is a picture); find_torn_mark checks it.
void mark(std::span<std::byte> payload, std::uint64_t sequence, std::size_t every_bytes) noexcept;
std::optional<std::uint64_t> find_torn_mark(std::span<const std::byte> payload, std::uint64_t sequence, std::size_t every_bytes) noexcept;

}  // namespace framewire
