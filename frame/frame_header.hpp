// The header of every slice of every frame. docs/wire.md draws it byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "frame/frame_layout.hpp"
#include "frame/slices.hpp"

namespace framewire {

inline constexpr std::uint32_t frame_header_magic = 0x31465746;  // "FWF1", little-endian
inline constexpr std::size_t frame_header_fixed_bytes = 128;
inline constexpr std::size_t frame_header_plane_bytes = 32;
inline constexpr std::size_t max_frame_header_bytes =
    frame_header_fixed_bytes + max_wire_planes * frame_header_plane_bytes;

/// When each stage of a frame was complete, on the sender's clock (CLOCK_MONOTONIC, ns). 0: not known.
struct FrameTimes {
  std::int64_t begun_ns = 0;      // the source started on it
  std::int64_t completed_ns = 0;  // the whole frame was in its slot; known in the slice that is sent last
  std::int64_t offered_ns = 0;    // the slice was given to the link
  bool operator==(const FrameTimes&) const = default;
};

struct FrameHeader {
  std::uint64_t sequence = 0;  // in the stream; incremented for every frame that was produced
  std::uint32_t stream = 0;
  std::uint32_t epoch = 0;
  std::uint16_t slot = 0;  // of the ring
  std::uint16_t slice = 0;
  std::uint16_t slice_count = 1;
  std::uint64_t slice_offset_bytes = 0;  // of this slice in the payload
  std::uint64_t slice_bytes = 0;
  std::uint64_t user_tag = 0;  // of the source, handed on: the kind of test pattern; for bytes see docs/wire.md
  std::int64_t pts_ns = 0;     // presentation time, from the start of the stream
  FrameTimes times;
  Colour colour;
  FrameLayout layout;
  bool has_test_pattern = false;  // in the payload (frame/test_pattern.hpp)
  bool is_aborted = false;        // no more slices of this frame come: its source has given it up
  bool operator==(const FrameHeader&) const = default;
};

/// Bytes that encode() writes for this header.
std::size_t encoded_bytes(const FrameHeader& header) noexcept;

/// Writes the header into `out` (at least encoded_bytes()), little-endian. Returns the number of bytes written. Does
/// not allocate.
std::size_t encode(const FrameHeader& header, std::span<std::byte> out) noexcept;
/// The same, with this slot in place of the header's own.
std::size_t encode(const FrameHeader& header, std::uint16_t slot, std::span<std::byte> out) noexcept;

/// Why bytes from a peer are not a valid header.
enum class HeaderFault { none, too_short, wrong_magic, wrong_version, wrong_size, wrong_checksum, wrong_value };
const char* describe(HeaderFault fault) noexcept;

/// The length of the whole header from its first eight bytes; nothing if this is not a header of version 1.
std::optional<std::size_t> header_bytes_from_prefix(std::span<const std::byte> first_eight) noexcept;

/// Where the header's slice lies, by its number.
inline ByteRange slice_range(const FrameHeader& header) noexcept {
  return slice_range(header.layout.size_bytes, header.slice_count, header.slice);
}

/// The bytes of the header's slice, of a frame that begins where `payload` does.
template <typename Byte>
[[nodiscard]] std::span<Byte> slice_bytes(std::span<Byte> payload, const FrameHeader& header) noexcept {
  return payload.subspan(header.slice_offset_bytes, header.slice_bytes);
}

/// Decodes a header and checks what can be checked without the session: magic, version, checksum, enumerations, and
/// that slices and planes are inside the payload. `bytes` must be private memory that the peer cannot change.
HeaderFault decode(std::span<const std::byte> bytes, FrameHeader& header) noexcept;

}  // namespace framewire
