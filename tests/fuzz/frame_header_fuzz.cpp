// Frame headers and what stands around them: header cells, their immediates, and the cells of a pool's directory.
//
// Input: one byte that says whether the check sum is made right, 4 bytes of an immediate, then a header.
#include "frame/frame_header.hpp"

#include <xxhash.h>

#include <array>
#include <optional>

#include "tests/fuzz/fuzz.hpp"
#include "transport/frame_directory.hpp"
#include "transport/rdma/wire.hpp"

namespace framewire::fuzz {
namespace {

constexpr std::size_t check_offset = 124;

FrameHeader header_of(PixelFormat format, std::uint32_t width, std::uint32_t height) {
  FrameHeader header;
  header.sequence = 7;
  header.epoch = 2;
  header.slot = 3;
  header.times = {1, 2, 3};
  header.layout = format == PixelFormat::bytes ? bytes_layout(width) : packed_layout(format, width, height);
  header.slice_bytes = header.layout.size_bytes;
  return header;
}

std::string seed(const FrameHeader& header) {
  std::array<std::byte, max_frame_header_bytes> bytes{};
  const std::size_t size = encode(header, bytes);
  return "\1" + bytes_of(encode(Immediate{.epoch = 2, .slot = 3, .slice = 0})) + text_of(std::span(bytes).first(size));
}

/// Without a correct check sum the fuzzer would seldom come further.
void make_right(std::vector<std::byte>& header) {
  const std::optional<std::size_t> size =
      header_bytes_from_prefix(std::span(header).first(std::min<std::size_t>(header.size(), 8)));
  if (size && *size <= header.size()) {
    std::memset(header.data() + check_offset, 0, 4);
    const auto sum = static_cast<std::uint32_t>(XXH3_64bits(header.data(), *size));
    std::memcpy(header.data() + check_offset, &sum, sizeof sum);
  }
}

/// What a receiver relies on when it points into a slot.
void require_inside(const FrameLayout& layout) {
  std::uint64_t free_from = 0;
  for (std::uint32_t i = 0; i < layout.plane_count; ++i) {
    const PlaneLayout& plane = layout.planes.at(i);
    require(plane.rows != 0 && plane.row_bytes != 0 && plane.pitch_bytes >= plane.row_bytes, "a plane has pixels");
    require(plane.offset_bytes >= free_from && plane.offset_bytes <= layout.size_bytes, "planes do not overlap");
    // Fits into 64 bits, whatever the three numbers are.
    const std::uint64_t last = std::uint64_t{plane.pitch_bytes} * (plane.rows - 1) + plane.row_bytes;
    require(last <= layout.size_bytes - plane.offset_bytes, "a plane lies in its frame");
    free_from = plane.offset_bytes + last;
  }
}

void check_good(const FrameHeader& header) {
  const std::uint64_t size = header.layout.size_bytes;
  require(size <= max_slot_bytes, "a frame fits the largest slot");
  require(header.slice_offset_bytes <= size && header.slice_bytes <= size - header.slice_offset_bytes,
          "a slice lies in its frame");
  require(header.slice < header.slice_count && header.slice_count <= max_slices, "a slice is one of the frame's");
  std::array<std::byte, max_frame_header_bytes> bytes{};
  const std::size_t encoded = encode(header, bytes);
  require(encoded == encoded_bytes(header) && encoded <= bytes.size(), "encode() writes what encoded_bytes() says");
  require(header_bytes_from_prefix(std::span(bytes).first(8)) == encoded, "the prefix says how long the header is");
  FrameHeader again;
  require(decode(std::span(bytes).first(encoded), again) == HeaderFault::none && again == header,
          "a header comes back as it went");
  for (const std::size_t cut : {std::size_t{0}, frame_header_fixed_bytes - 1, encoded - 1}) {
    require(decode(std::span(bytes).first(cut), again) != HeaderFault::none, "a header that is cut off is refused");
  }
  if (!validate_layout(header.layout, size) && header.layout.format != PixelFormat::bytes) {
    require_inside(header.layout);
    require_inside(packed_layout(header.layout.format, header.layout.width, header.layout.height));
  }
}

void check_immediate(std::uint32_t bits) {
  const Immediate immediate = decode_immediate(bits);
  require(encode(immediate) == bits, "an immediate comes back as it went");
  require(immediate.slot < (1U << Immediate::slot_bits) && immediate.slice < max_slices,
          "an immediate's slot is small");
  const std::uint32_t cells = cells_per_slot_for(bits);
  require(cells >= 16 && cells <= max_slices, "a slot has cells");
}

}  // namespace

std::vector<std::string> seeds() {
  FrameHeader sliced = header_of(PixelFormat::rgba, 64, 48);
  sliced.slice = 1;
  sliced.slice_count = 4;
  sliced.slice_offset_bytes = 3072;
  sliced.slice_bytes = 3072;
  return {seed(header_of(PixelFormat::bytes, 5000, 0)), seed(header_of(PixelFormat::yuv420p, 65, 49)),
          seed(header_of(PixelFormat::p010le, 3840, 2160)), seed(sliced)};
}

}  // namespace framewire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace framewire;
  fuzz::Input input(data, size);
  const bool has_right_sum = (input.take<std::uint8_t>() & 1) != 0;
  fuzz::check_immediate(input.take<std::uint32_t>());
  const auto rest = input.take_all();
  std::vector<std::byte> bytes(rest.begin(), rest.end());
  if (bytes.size() >= directory_cell_bytes) {
    directory_generation(bytes);
  }
  if (bytes.size() >= newest_cell_bytes) {
    decode_newest(std::span(bytes).first<newest_cell_bytes>());
  }
  if (has_right_sum) {
    fuzz::make_right(bytes);
  }
  FrameHeader header;
  const HeaderFault fault = decode(bytes, header);
  fuzz::require_printable(describe(fault));
  if (fault == HeaderFault::none) {
    fuzz::check_good(header);
  }
  return 0;
}
