#include "tests/pixels/reference.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

namespace framewire {

namespace {

/// Reads the components of a frame by plane, row and byte.
class Bytes {
 public:
  Bytes(const FrameLayout& layout, std::span<const std::byte> payload) : layout_(layout), payload_(payload) {}

  [[nodiscard]] int at(std::size_t plane, int row, int byte) const {
    const PlaneLayout& where = layout_.planes.at(plane);
    return std::to_integer<int>(payload_[where.offset_bytes + static_cast<std::size_t>(row) * where.pitch_bytes +
                                         static_cast<std::size_t>(byte)]);
  }
  [[nodiscard]] int word(std::size_t plane, int row, int index) const {
    return at(plane, row, 2 * index) | at(plane, row, 2 * index + 1) << 8;
  }

 private:
  const FrameLayout& layout_;
  std::span<const std::byte> payload_;
};

/// The kinds of YUV frames: how to get luma at a pixel and chroma at a chroma position.
struct Yuv {
  int sub_x;  // luma samples per chroma sample
  int sub_y;
  int depth;
};

Yuv kind_of(PixelFormat format) {
  switch (format) {
    case PixelFormat::nv12:
    case PixelFormat::yuv420p:
      return {2, 2, 8};
    case PixelFormat::p010le:
    case PixelFormat::yuv420p10le:
      return {2, 2, 10};
    case PixelFormat::yuv422p10le:
      return {2, 1, 10};
    case PixelFormat::yuv444p:
      return {1, 1, 8};
    case PixelFormat::yuv422p:
    case PixelFormat::uyvy422:
    case PixelFormat::yuyv422:
      return {2, 1, 8};
    case PixelFormat::bytes:
    case PixelFormat::rgba:
    case PixelFormat::rgba_grayf32le:
    case PixelFormat::bgra:
    case PixelFormat::rgb0:
    case PixelFormat::bgr0:
    case PixelFormat::rgb24:
    case PixelFormat::bgr24:
    case PixelFormat::gray8:
      break;
  }
  throw std::logic_error("no YUV format");
}

double luma_code(PixelFormat format, const Bytes& bytes, int x, int y) {
  switch (format) {
    case PixelFormat::uyvy422:
      return bytes.at(0, y, 2 * x + 1);
    case PixelFormat::yuyv422:
      return bytes.at(0, y, 2 * x);
    case PixelFormat::p010le:
      return bytes.word(0, y, x) / 64.0;
    case PixelFormat::yuv420p10le:
    case PixelFormat::yuv422p10le:
      return bytes.word(0, y, x);
    case PixelFormat::nv12:
    case PixelFormat::yuv420p:
    case PixelFormat::yuv422p:
    case PixelFormat::yuv444p:
      return bytes.at(0, y, x);
    case PixelFormat::bytes:
    case PixelFormat::rgba:
    case PixelFormat::rgba_grayf32le:
    case PixelFormat::bgra:
    case PixelFormat::rgb0:
    case PixelFormat::bgr0:
    case PixelFormat::rgb24:
    case PixelFormat::bgr24:
    case PixelFormat::gray8:
      break;
  }
  throw std::logic_error("no YUV format");
}

/// U (component 0) or V (component 1).
double chroma_code(PixelFormat format, const Bytes& bytes, int component, int x, int y) {
  const auto own_plane = std::size_t{1} + static_cast<std::size_t>(component);
  switch (format) {
    case PixelFormat::uyvy422:
      return bytes.at(0, y, 4 * x + 2 * component);
    case PixelFormat::yuyv422:
      return bytes.at(0, y, 4 * x + 1 + 2 * component);
    case PixelFormat::nv12:
      return bytes.at(1, y, 2 * x + component);
    case PixelFormat::p010le:
      return bytes.word(1, y, 2 * x + component) / 64.0;
    case PixelFormat::yuv420p10le:
    case PixelFormat::yuv422p10le:
      return bytes.word(own_plane, y, x);
    case PixelFormat::yuv420p:
    case PixelFormat::yuv422p:
    case PixelFormat::yuv444p:
      return bytes.at(own_plane, y, x);
    case PixelFormat::bytes:
    case PixelFormat::rgba:
    case PixelFormat::rgba_grayf32le:
    case PixelFormat::bgra:
    case PixelFormat::rgb0:
    case PixelFormat::bgr0:
    case PixelFormat::rgb24:
    case PixelFormat::bgr24:
    case PixelFormat::gray8:
      break;
  }
  throw std::logic_error("no YUV format");
}

/// Interpolates chroma linearly at a position in chroma samples. Positions outside repeat the edge.
double chroma_between(const FrameLayout& layout, const Bytes& bytes, const Yuv& kind, int component, double x,
                      double y) {
  const int last_x = (static_cast<int>(layout.width) + kind.sub_x - 1) / kind.sub_x - 1;
  const int last_y = (static_cast<int>(layout.height) + kind.sub_y - 1) / kind.sub_y - 1;
  const auto sample = [&](double at_x, double at_y) {
    return chroma_code(layout.format, bytes, component, std::clamp(static_cast<int>(at_x), 0, last_x),
                       std::clamp(static_cast<int>(at_y), 0, last_y));
  };
  const double left = std::floor(x);
  const double top = std::floor(y);
  const double upper = sample(left, top) * (1 - (x - left)) + sample(left + 1, top) * (x - left);
  const double lower = sample(left, top + 1) * (1 - (x - left)) + sample(left + 1, top + 1) * (x - left);
  return upper * (1 - (y - top)) + lower * (y - top);
}

struct Weights {
  double red;
  double blue;
};

Weights weights_of(ColourMatrix matrix, std::uint32_t height) {
  switch (matrix) {
    case ColourMatrix::bt470bg:
    case ColourMatrix::smpte170m:
      return {0.299, 0.114};
    case ColourMatrix::bt709:
      return {0.2126, 0.0722};
    case ColourMatrix::bt2020nc:
      return {0.2627, 0.0593};
    case ColourMatrix::fcc:
      return {0.30, 0.11};
    case ColourMatrix::smpte240m:
      return {0.212, 0.087};
    case ColourMatrix::rgb:
    case ColourMatrix::unspecified:
    case ColourMatrix::ycgco:
    case ColourMatrix::bt2020c:
    case ColourMatrix::smpte2085:
    case ColourMatrix::chroma_derived_nc:
    case ColourMatrix::chroma_derived_c:
    case ColourMatrix::ictcp:
      break;
  }
  return height >= 720 ? Weights{0.2126, 0.0722} : Weights{0.299, 0.114};
}

/// In luma samples, from the first luma sample that the chroma sample covers.
struct ChromaPlace {
  double right;
  double down;
};

ChromaPlace place_of(ChromaLocation location) {
  switch (location) {
    case ChromaLocation::unspecified:
    case ChromaLocation::left:
      break;
    case ChromaLocation::center:
      return {0.5, 0.5};
    case ChromaLocation::topleft:
      return {0, 0};
    case ChromaLocation::top:
      return {0.5, 0};
    case ChromaLocation::bottomleft:
      return {0, 1};
    case ChromaLocation::bottom:
      return {0.5, 1};
  }
  return {0, 0.5};
}

ReferencePixel yuv_pixel(const FrameLayout& layout, const Bytes& bytes, const Colour& colour, int x, int y,
                         const ChromaPlace& place) {
  const Yuv kind = kind_of(layout.format);
  const double chroma_x = kind.sub_x == 2 ? (x - place.right) / 2 : x;
  const double chroma_y = kind.sub_y == 2 ? (y - place.down) / 2 : y;
  const double luma = luma_code(layout.format, bytes, x, y);
  const double u = chroma_between(layout, bytes, kind, 0, chroma_x, chroma_y);
  const double v = chroma_between(layout, bytes, kind, 1, chroma_x, chroma_y);
  const double step = std::pow(2.0, kind.depth - 8);
  const double top = std::pow(2.0, kind.depth) - 1;
  const double middle = std::pow(2.0, kind.depth - 1);
  const bool is_full = colour.range == ColourRange::full;
  const double ey = is_full ? luma / top : (luma - 16 * step) / (219 * step);
  const double eu = is_full ? (u - middle) / top : (u - middle) / (224 * step);
  const double ev = is_full ? (v - middle) / top : (v - middle) / (224 * step);
  const Weights weights = weights_of(colour.matrix, layout.height);
  const double red = ey + 2 * (1 - weights.red) * ev;
  const double blue = ey + 2 * (1 - weights.blue) * eu;
  const double green = (ey - weights.red * red - weights.blue * blue) / (1 - weights.red - weights.blue);
  return {255 * red, 255 * green, 255 * blue, 255};
}

ReferencePixel rgb_codes(const FrameLayout& layout, const Bytes& bytes, int x, int y) {
  const auto byte = [&](int texel, int index) -> double { return bytes.at(0, y, texel * x + index); };
  switch (layout.format) {
    case PixelFormat::rgba:
    case PixelFormat::rgba_grayf32le:
      return {byte(4, 0), byte(4, 1), byte(4, 2), byte(4, 3)};
    case PixelFormat::bgra:
      return {byte(4, 2), byte(4, 1), byte(4, 0), byte(4, 3)};
    case PixelFormat::rgb0:
      return {byte(4, 0), byte(4, 1), byte(4, 2), 255};
    case PixelFormat::bgr0:
      return {byte(4, 2), byte(4, 1), byte(4, 0), 255};
    case PixelFormat::rgb24:
      return {byte(3, 0), byte(3, 1), byte(3, 2), 255};
    case PixelFormat::bgr24:
      return {byte(3, 2), byte(3, 1), byte(3, 0), 255};
    case PixelFormat::gray8:
      return {byte(1, 0), byte(1, 0), byte(1, 0), 255};
    case PixelFormat::bytes:
    case PixelFormat::nv12:
    case PixelFormat::yuv420p:
    case PixelFormat::yuv422p:
    case PixelFormat::yuv444p:
    case PixelFormat::uyvy422:
    case PixelFormat::yuyv422:
    case PixelFormat::p010le:
    case PixelFormat::yuv420p10le:
    case PixelFormat::yuv422p10le:
      break;
  }
  throw std::logic_error("no RGB format");
}

bool is_rgb_or_gray(PixelFormat format) {
  switch (format) {
    case PixelFormat::rgba:
    case PixelFormat::rgba_grayf32le:
    case PixelFormat::bgra:
    case PixelFormat::rgb0:
    case PixelFormat::bgr0:
    case PixelFormat::rgb24:
    case PixelFormat::bgr24:
    case PixelFormat::gray8:
      return true;
    case PixelFormat::bytes:
    case PixelFormat::nv12:
    case PixelFormat::yuv420p:
    case PixelFormat::yuv422p:
    case PixelFormat::yuv444p:
    case PixelFormat::uyvy422:
    case PixelFormat::yuyv422:
    case PixelFormat::p010le:
    case PixelFormat::yuv420p10le:
    case PixelFormat::yuv422p10le:
      break;
  }
  return false;
}

bool is_ten_bits(PixelFormat format) {
  return !is_rgb_or_gray(format) && kind_of(format).depth == 10;
}

}  // namespace

ReferencePixel reference_pixel(const FrameLayout& layout, std::span<const std::byte> payload, const Colour& colour,
                               int x, int y, ChromaLocation chroma) {
  const Bytes bytes(layout, payload);
  ReferencePixel pixel{};
  if (is_rgb_or_gray(layout.format)) {
    pixel = rgb_codes(layout, bytes, x, y);
    if (colour.range == ColourRange::limited) {
      for (std::size_t i = 0; i < 3; ++i) {
        pixel.at(i) = (pixel.at(i) - 16) * 255 / 219;
      }
    }
  } else {
    pixel = yuv_pixel(layout, bytes, colour, x, y, place_of(chroma));
  }
  for (double& value : pixel) {
    value = std::clamp(value, 0.0, 255.0);
  }
  return pixel;
}

FrameLayout padded_layout(PixelFormat format, std::uint32_t width, std::uint32_t height,
                          std::uint32_t extra_pitch_bytes, std::uint64_t first_offset_bytes, std::uint64_t gap_bytes) {
  FrameLayout layout = packed_layout(format, width, height);
  std::uint64_t offset_bytes = first_offset_bytes;
  for (std::uint32_t i = 0; i < layout.plane_count; ++i) {
    PlaneLayout& plane = layout.planes.at(i);
    plane.pitch_bytes += extra_pitch_bytes;
    plane.offset_bytes = offset_bytes;
    // The last row ends with its visible bytes. Nothing after them may be read.
    layout.size_bytes = offset_bytes + std::uint64_t{plane.pitch_bytes} * (plane.rows - 1) + plane.row_bytes;
    offset_bytes = layout.size_bytes + gap_bytes;
  }
  return layout;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const PixelFormatInfo& entry : pixel_formats()) {
    names.emplace_back(entry.name);
  }
  return names;
}

void fill_with_content(PixelFormat format, std::span<std::byte> payload, std::uint32_t seed) {
  std::mt19937 random(seed);
  if (!is_ten_bits(format)) {
    constexpr std::array extremes = {0, 1, 15, 16, 127, 128, 129, 235, 240, 254, 255};
    for (std::byte& byte : payload) {
      const auto number = random();
      byte = number % 4 == 0 ? static_cast<std::byte>(extremes.at(number / 4 % extremes.size()))
                             : static_cast<std::byte>(number >> 8 & 0xffU);
    }
    return;
  }
  constexpr std::array<unsigned, 9> extremes = {0, 1, 63, 64, 512, 940, 960, 1022, 1023};
  for (std::size_t i = 0; i + 1 < payload.size(); i += 2) {
    const auto number = random();
    unsigned code = number % 4 == 0 ? extremes.at(number / 4 % extremes.size()) : number >> 8 & 1023U;
    code = format == PixelFormat::p010le ? code << 6 : code;
    payload[i] = static_cast<std::byte>(code & 0xffU);
    payload[i + 1] = static_cast<std::byte>(code >> 8);
  }
}

}  // namespace framewire
