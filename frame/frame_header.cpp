#include "frame/frame_header.hpp"

#include <xxhash.h>

#include <bit>
#include <cassert>
#include <cstring>
#include <type_traits>

#include "base/clock.hpp"

namespace framewire {

namespace {

constexpr std::uint16_t wire_version = 1;
constexpr std::size_t check_offset = 124;
constexpr std::uint8_t flag_test_pattern = 1;
constexpr std::uint8_t flag_aborted = 2;

static_assert(std::endian::native == std::endian::little,
              "the wire is little-endian; this host would have to swap bytes");

template <typename T>
void put(std::span<std::byte> out, std::size_t offset, T value) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(out.data() + offset, &value, sizeof value);
}

template <typename T>
T get(std::span<const std::byte> in, std::size_t offset) noexcept {
  T value;
  std::memcpy(&value, in.data() + offset, sizeof value);
  return value;
}

/// XXH3 of the whole header with the check field set to zero, truncated to 32 bits.
std::uint32_t check_sum(std::span<std::byte> header) noexcept {
  put<std::uint32_t>(header, check_offset, 0);
  return static_cast<std::uint32_t>(XXH3_64bits(header.data(), header.size()));
}

std::uint8_t flags_of(const FrameHeader& header) noexcept {
  return static_cast<std::uint8_t>((header.has_test_pattern ? flag_test_pattern : 0) |
                                   (header.is_aborted ? flag_aborted : 0));
}

/// What says of what format a plane is.
std::uint32_t plane_number(PixelFormat format, std::uint32_t plane) noexcept {
  const auto number = static_cast<std::uint32_t>(format);
  const auto known = pixel_format_from_number(number);
  const std::uint32_t own = known ? info(*known).planes[plane].wire_number : 0;
  return own != 0 ? own : number;
}

void encode_planes(const FrameLayout& layout, std::span<std::byte> out) noexcept {
  for (std::uint32_t i = 0; i < layout.plane_count; ++i) {
    const PlaneLayout& plane = layout.planes[i];
    const auto at = out.subspan(frame_header_fixed_bytes + i * frame_header_plane_bytes, frame_header_plane_bytes);
    put(at, 0, plane.offset_bytes);
    put(at, 8, plane.pitch_bytes);
    put(at, 12, plane.row_bytes);
    put(at, 16, plane.rows);
    put(at, 20, plane_number(layout.format, i));
    put(at, 24, std::uint64_t{0});
  }
}

/// Returns whether the planes are of the formats that they must have.
bool decode_planes(std::span<const std::byte> in, FrameLayout& layout) noexcept {
  bool are_right = true;
  for (std::uint32_t i = 0; i < layout.plane_count; ++i) {
    const auto at = in.subspan(frame_header_fixed_bytes + i * frame_header_plane_bytes, frame_header_plane_bytes);
    layout.planes[i] = {get<std::uint64_t>(at, 0), get<std::uint32_t>(at, 8), get<std::uint32_t>(at, 12),
                        get<std::uint32_t>(at, 16)};
    are_right &= get<std::uint32_t>(at, 20) == plane_number(layout.format, i);
  }
  return are_right;
}

/// validate_layout() without its text: this runs for every frame and must not allocate.
bool planes_fit(const FrameLayout& layout) noexcept {
  const PixelFormatInfo& shape = info(layout.format);
  if (layout.format == PixelFormat::bytes) {
    return layout.plane_count == 0;
  }
  if (layout.plane_count != shape.plane_count || layout.width == 0 || layout.height == 0 ||
      layout.width > max_frame_side_pixels || layout.height > max_frame_side_pixels) {
    return false;
  }
  std::uint64_t free_from = 0;
  for (std::uint32_t i = 0; i < layout.plane_count; ++i) {
    const PlaneLayout& plane = layout.planes[i];
    const PlaneShape& texel = shape.planes[i];
    const std::uint32_t columns = ceil_rshift(layout.width, texel.log2_width);
    const std::uint32_t rows = ceil_rshift(layout.height, texel.log2_height);
    if (plane.row_bytes != columns * texel.bytes_per_texel || plane.rows != rows ||
        plane.pitch_bytes < plane.row_bytes) {
      return false;
    }
    const std::uint64_t size = std::uint64_t{plane.pitch_bytes} * (plane.rows - 1) + plane.row_bytes;
    if (plane.offset_bytes < free_from || plane.offset_bytes > layout.size_bytes ||
        size > layout.size_bytes - plane.offset_bytes) {
      return false;
    }
    free_from = plane.offset_bytes + size;
  }
  return true;
}

bool values_make_sense(const FrameHeader& header) noexcept {
  return is_monotonic_time(header.times.begun_ns) && is_monotonic_time(header.times.completed_ns) &&
         is_monotonic_time(header.times.offered_ns) && header.slice_count >= 1 && header.slice_count <= max_slices &&
         header.slice < header.slice_count && header.layout.size_bytes <= max_slot_bytes &&
         header.slice_offset_bytes <= header.layout.size_bytes &&
         header.slice_bytes <= header.layout.size_bytes - header.slice_offset_bytes &&
         (!header.is_aborted || header.slice_bytes == 0) && planes_fit(header.layout);
}

}  // namespace

std::size_t encoded_bytes(const FrameHeader& header) noexcept {
  return frame_header_fixed_bytes + header.layout.plane_count * frame_header_plane_bytes;
}

std::size_t encode(const FrameHeader& header, std::span<std::byte> out) noexcept {
  return encode(header, header.slot, out);
}

std::size_t encode(const FrameHeader& header, std::uint16_t slot, std::span<std::byte> out) noexcept {
  const std::size_t size = encoded_bytes(header);
  assert(out.size() >= size);
  out = out.first(size);
  put(out, 0, frame_header_magic);
  put(out, 4, wire_version);
  put(out, 6, static_cast<std::uint16_t>(size));
  put(out, 8, header.sequence);
  put(out, 16, header.stream);
  put(out, 20, header.epoch);
  put(out, 24, slot);
  put(out, 26, header.slice);
  put(out, 28, header.slice_count);
  put(out, 30, static_cast<std::uint8_t>(header.layout.plane_count));
  put(out, 31, flags_of(header));
  put(out, 32, header.layout.size_bytes);
  put(out, 40, header.slice_offset_bytes);
  put(out, 48, header.slice_bytes);
  put(out, 56, header.user_tag);
  put(out, 64, header.pts_ns);
  put(out, 72, header.times.begun_ns);
  put(out, 80, header.times.completed_ns);
  put(out, 88, header.times.offered_ns);
  put(out, 96, static_cast<std::uint8_t>(header.colour.matrix));
  put(out, 97, static_cast<std::uint8_t>(header.colour.range));
  put(out, 98, static_cast<std::uint8_t>(header.colour.transfer));
  put(out, 99, static_cast<std::uint8_t>(header.colour.primaries));
  put(out, 100, static_cast<std::uint32_t>(header.layout.format));
  put(out, 104, header.layout.width);
  put(out, 108, header.layout.height);
  put(out, 112, std::uint64_t{0});
  put(out, 120, std::uint32_t{0});
  encode_planes(header.layout, out);
  put(out, check_offset, check_sum(out));
  return size;
}

const char* describe(HeaderFault fault) noexcept {
  switch (fault) {
    case HeaderFault::none:
      return "a good frame header";
    case HeaderFault::too_short:
      return "a frame header that is cut off";
    case HeaderFault::wrong_magic:
      return "bytes that are no frame header";
    case HeaderFault::wrong_version:
      return "a frame header of another version";
    case HeaderFault::wrong_size:
      return "a frame header with a wrong length";
    case HeaderFault::wrong_checksum:
      return "a frame header whose check sum is wrong";
    case HeaderFault::wrong_value:
      return "a frame header with values that cannot be";
  }
  return "an unknown fault";
}

std::optional<std::size_t> header_bytes_from_prefix(std::span<const std::byte> first_eight) noexcept {
  if (first_eight.size() < 8 || get<std::uint32_t>(first_eight, 0) != frame_header_magic ||
      get<std::uint16_t>(first_eight, 4) != wire_version) {
    return std::nullopt;
  }
  const std::size_t size = get<std::uint16_t>(first_eight, 6);
  if (size < frame_header_fixed_bytes || size > max_frame_header_bytes) {
    return std::nullopt;
  }
  return size;
}

HeaderFault decode(std::span<const std::byte> bytes, FrameHeader& header) noexcept {
  if (bytes.size() < frame_header_fixed_bytes) {
    return HeaderFault::too_short;
  }
  if (get<std::uint32_t>(bytes, 0) != frame_header_magic) {
    return HeaderFault::wrong_magic;
  }
  if (get<std::uint16_t>(bytes, 4) != wire_version) {
    return HeaderFault::wrong_version;
  }
  const std::size_t size = get<std::uint16_t>(bytes, 6);
  const std::size_t planes = get<std::uint8_t>(bytes, 30);
  if (planes > header.layout.planes.size() || size != frame_header_fixed_bytes + planes * frame_header_plane_bytes) {
    return HeaderFault::wrong_size;
  }
  if (bytes.size() < size) {
    return HeaderFault::too_short;
  }
  std::array<std::byte, max_frame_header_bytes> copy;  // only the first `size` bytes are used
  std::memcpy(copy.data(), bytes.data(), size);
  if (check_sum({copy.data(), size}) != get<std::uint32_t>(bytes, check_offset)) {
    return HeaderFault::wrong_checksum;
  }
  const auto format = pixel_format_from_number(get<std::uint32_t>(bytes, 100));
  if (!format) {
    return HeaderFault::wrong_value;
  }
  header = FrameHeader{
      .sequence = get<std::uint64_t>(bytes, 8),
      .stream = get<std::uint32_t>(bytes, 16),
      .epoch = get<std::uint32_t>(bytes, 20),
      .slot = get<std::uint16_t>(bytes, 24),
      .slice = get<std::uint16_t>(bytes, 26),
      .slice_count = get<std::uint16_t>(bytes, 28),
      .slice_offset_bytes = get<std::uint64_t>(bytes, 40),
      .slice_bytes = get<std::uint64_t>(bytes, 48),
      .user_tag = get<std::uint64_t>(bytes, 56),
      .pts_ns = get<std::int64_t>(bytes, 64),
      .times = {get<std::int64_t>(bytes, 72), get<std::int64_t>(bytes, 80), get<std::int64_t>(bytes, 88)},
      .colour = colour_from_numbers(get<std::uint8_t>(bytes, 96), get<std::uint8_t>(bytes, 97),
                                    get<std::uint8_t>(bytes, 98), get<std::uint8_t>(bytes, 99)),
      .layout = {.format = *format,
                 .width = get<std::uint32_t>(bytes, 104),
                 .height = get<std::uint32_t>(bytes, 108),
                 .plane_count = static_cast<std::uint32_t>(planes),
                 .size_bytes = get<std::uint64_t>(bytes, 32)},
      .has_test_pattern = (get<std::uint8_t>(bytes, 31) & flag_test_pattern) != 0,
      .is_aborted = (get<std::uint8_t>(bytes, 31) & flag_aborted) != 0,
  };
  const bool have_right_formats = decode_planes(bytes, header.layout);
  return have_right_formats && values_make_sense(header) ? HeaderFault::none : HeaderFault::wrong_value;
}

}  // namespace framewire
