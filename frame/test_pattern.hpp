// Test patterns: payloads by which a program detects a torn, stale or repeated frame. A stamp is a hash of the frame's
// sequence number and of a place in its payload; it has nothing to do with time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace framewire {

inline constexpr std::size_t test_line_bytes = 64;

/// Fills `payload` with lines of 64 bytes, each of which repeats its stamp. A shorter rest is stamped, too. Of a part
/// of a payload, `first_line` is the index of its first line.
void write_test_lines(std::span<std::byte> payload, std::uint64_t sequence, std::uint64_t first_line = 0) noexcept;

/// The index of the first line that does not carry the stamp of `sequence`, or nothing if all do.
std::optional<std::uint64_t> find_torn_line(std::span<const std::byte> payload, std::uint64_t sequence,
                                            std::uint64_t first_line = 0) noexcept;

/// Writes a stamp of 8 bytes every `every_bytes` and nothing between them, so that the rest can be a picture.
/// Of a part of a payload, `first_byte` is where it begins, a multiple of `every_bytes`. find_torn_mark() checks the
/// whole, and returns the index of the first wrong one.
void write_test_marks(std::span<std::byte> payload, std::uint64_t sequence, std::size_t every_bytes,
                      std::uint64_t first_byte = 0) noexcept;
std::optional<std::uint64_t> find_torn_mark(std::span<const std::byte> payload, std::uint64_t sequence,
                                            std::size_t every_bytes) noexcept;

/// The kinds of test patterns in a frame with FrameHeader::has_test_pattern: its user_tag alone selects one.
inline constexpr std::uint64_t test_marks_tag = 1;  // write_test_marks() over the whole payload, every test_mark_bytes
inline constexpr std::uint64_t test_lines_tag = 2;  // write_test_lines() over the whole payload
inline constexpr std::size_t test_mark_bytes = 4096;

/// Checks the whole payload of a frame with a test pattern of either kind. Returns the offset in bytes of the first
/// wrong stamp, or nothing. An unknown tag is the peer's mistake and counts as wrong at 0.
std::optional<std::uint64_t> find_torn_byte(std::span<const std::byte> payload, std::uint64_t sequence,
                                            std::uint64_t user_tag) noexcept;

}  // namespace framewire
