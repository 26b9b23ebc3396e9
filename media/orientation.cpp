#include "media/orientation.hpp"

extern "C" {
#include <libavutil/display.h>
}

#include <algorithm>
#include <array>
#include <cstdlib>

namespace framewire::libav {

namespace {

const std::int32_t* display_matrix(const AVStream& stream) noexcept {
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)  // moved in FFmpeg 6.1
  const AVCodecParameters& parameters = *stream.codecpar;
  const AVPacketSideData* data =
      av_packet_side_data_get(parameters.coded_side_data, parameters.nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
  return data != nullptr && data->size >= 9 * sizeof(std::int32_t) ? reinterpret_cast<const std::int32_t*>(data->data)
                                                                   : nullptr;
#else
  std::size_t size_bytes = 0;
  const std::uint8_t* data = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &size_bytes);
  return data != nullptr && size_bytes >= 9 * sizeof(std::int32_t) ? reinterpret_cast<const std::int32_t*>(data)
                                                                   : nullptr;
#endif
}

/// Copies one plane in squares that fit the caches. Walking whole columns would miss the cache at every step.
template <std::size_t texel_bytes>
void turn_plane(const std::uint8_t* from, std::ptrdiff_t from_pitch_bytes, const Orientation& orientation,
                const PlaneLayout& plane, std::byte* to) noexcept {
  using Texel = std::array<std::byte, texel_bytes>;
  constexpr std::uint32_t square = 64;
  const std::uint32_t columns = plane.row_bytes / static_cast<std::uint32_t>(texel_bytes);
  const std::uint32_t rows = plane.rows;
  for (std::uint32_t top = 0; top < rows; top += square) {
    for (std::uint32_t left = 0; left < columns; left += square) {
      for (std::uint32_t y = top; y < std::min(rows, top + square); ++y) {
        std::byte* row_to = to + std::size_t{y} * plane.pitch_bytes;
        const std::uint32_t v = orientation.flips_y ? rows - 1 - y : y;
        for (std::uint32_t x = left; x < std::min(columns, left + square); ++x) {
          const std::uint32_t u = orientation.flips_x ? columns - 1 - x : x;
          const std::uint32_t row = orientation.is_transposed ? u : v;
          const std::uint32_t column = orientation.is_transposed ? v : u;
          const auto* texel =
              reinterpret_cast<const Texel*>(from + static_cast<std::ptrdiff_t>(row) * from_pitch_bytes);
          reinterpret_cast<Texel*>(row_to)[x] = texel[column];
        }
      }
    }
  }
}

}  // namespace

std::optional<Orientation> orientation_of(const std::int32_t* matrix) noexcept {
  const std::int64_t a = matrix[0];
  const std::int64_t b = matrix[1];
  const std::int64_t c = matrix[3];
  const std::int64_t d = matrix[4];
  const auto is_nothing_beside = [](std::int64_t small, std::int64_t large) {
    return std::abs(small) * 64 < std::abs(large);  // within a degree
  };
  if (is_nothing_beside(b, a) && is_nothing_beside(c, d)) {
    return Orientation{false, a < 0, d < 0};
  }
  if (is_nothing_beside(a, b) && is_nothing_beside(d, c)) {
    return Orientation{true, c < 0, b < 0};
  }
  const bool says_nothing = a == 0 && b == 0 && c == 0 && d == 0;
  return says_nothing ? std::optional(Orientation{}) : std::nullopt;
}

std::optional<Orientation> orientation_of(const AVStream& stream, const AVFrame& picture) noexcept {
  const AVFrameSideData* own = av_frame_get_side_data(&picture, AV_FRAME_DATA_DISPLAYMATRIX);
  const std::int32_t* matrix = own != nullptr && own->size >= 9 * sizeof(std::int32_t)
                                   ? reinterpret_cast<const std::int32_t*>(own->data)
                                   : display_matrix(stream);
  return matrix != nullptr ? orientation_of(matrix) : Orientation{};
}

bool can_turn(PixelFormat format, const Orientation& orientation) noexcept {
  const PixelFormatInfo& shape = info(format);
  const bool has_pairs = shape.planes[0].log2_width != 0;
  const bool halves_one_way =
      std::any_of(shape.planes.begin(), shape.planes.begin() + shape.plane_count,
                  [](const PlaneShape& plane) { return plane.log2_width != plane.log2_height; });
  return !(has_pairs && (orientation.flips_x || orientation.is_transposed)) &&
         !(halves_one_way && orientation.is_transposed);
}

ChromaLocation turned(ChromaLocation location, const Orientation& orientation) noexcept {
  struct Place {
    ChromaLocation name;
    int x, y;  // 0: at the first luma sample of its block, 1: between, 2: at the last
  };
  static constexpr std::array places{Place{ChromaLocation::left, 0, 1},       Place{ChromaLocation::center, 1, 1},
                                     Place{ChromaLocation::topleft, 0, 0},    Place{ChromaLocation::top, 1, 0},
                                     Place{ChromaLocation::bottomleft, 0, 2}, Place{ChromaLocation::bottom, 1, 2}};
  const auto* from = std::ranges::find(places, location, &Place::name);
  if (from == places.end()) {
    return location;
  }
  int x = orientation.is_transposed ? from->y : from->x;
  int y = orientation.is_transposed ? from->x : from->y;
  x = orientation.flips_x ? 2 - x : x;
  y = orientation.flips_y ? 2 - y : y;
  const auto* to = std::ranges::find_if(places, [&](const Place& place) { return place.x == x && place.y == y; });
  return to != places.end() ? to->name : ChromaLocation::unspecified;
}

void copy_turned(const AVFrame& picture, const Orientation& orientation, const FrameLayout& layout,
                 std::byte* to) noexcept {
  for (std::uint32_t i = 0; i < layout.plane_count; ++i) {
    const PlaneLayout& plane = layout.planes[i];
    const auto turn = [&](auto turn_plane_of) {
      turn_plane_of(picture.data[i], picture.linesize[i], orientation, plane, to + plane.offset_bytes);
    };
    switch (info(layout.format).planes[i].bytes_per_texel) {
      case 1:
        turn(turn_plane<1>);
        break;
      case 2:
        turn(turn_plane<2>);
        break;
      case 3:
        turn(turn_plane<3>);
        break;
      case 4:
        turn(turn_plane<4>);
        break;
      case 6:
        turn(turn_plane<6>);
        break;
      default:
        turn(turn_plane<8>);
        break;
    }
  }
}

}  // namespace framewire::libav
