// Stamped payloads: a test pattern by which a program detects a torn, stale or repeated frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace framewire {

inline constexpr std::size_t stamp_line_bytes = 64;

/// Fills `payload` with lines of 64 bytes, each a repeated hash of (sequence, line index). A shorter rest is stamped,
/// too.
void stamp(std::span<std::byte> payload, std::uint64_t sequence) noexcept;

/// The index of the first line that does not carry the stamp of `sequence`, or nothing if all do.
std::optional<std::uint64_t> find_torn_line(std::span<const std::byte> payload, std::uint64_t sequence) noexcept;

/// Writes the stamp of `sequence` into the first 8 bytes of each line only, so that the rest can be a picture.
/// find_torn_mark() checks it.
void mark(std::span<std::byte> payload, std::uint64_t sequence, std::size_t every_bytes) noexcept;
std::optional<std::uint64_t> find_torn_mark(std::span<const std::byte> payload, std::uint64_t sequence,
                                            std::size_t every_bytes) noexcept;

/// The kinds of stamps in a frame with FrameHeader::is_stamped: its user_tag alone selects one.
inline constexpr std::uint64_t marked_frame_tag = 1;   // mark() over the whole payload, every pattern_mark_bytes
inline constexpr std::uint64_t stamped_frame_tag = 2;  // stamp() over the whole payload
inline constexpr std::size_t pattern_mark_bytes = 4096;

/// Checks the whole payload of a stamped frame of either kind. Returns the offset in bytes of the first wrong stamp, or
/// nothing. An unknown tag is the peer's mistake and counts as wrong at 0.
std::optional<std::uint64_t> find_torn_byte(std::span<const std::byte> payload, std::uint64_t sequence,
                                            std::uint64_t user_tag) noexcept;

}  // namespace framewire
