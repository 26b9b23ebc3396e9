#include "sender/sources/media/bars_picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "frame/colour.hpp"

namespace framewire {

namespace {

struct Rgb {
  double r = 0;  // 0 … 1
  double g = 0;
  double b = 0;
};

Rgb average(const Rgb& left, const Rgb& right) {
  return {(left.r + right.r) / 2, (left.g + right.g) / 2, (left.b + right.b) / 2};
}

/// White, yellow, cyan, green, magenta, red, blue, black: the order of SMPTE's bars (falling luma).
Rgb bar(std::uint32_t number, double level) {
  constexpr std::array<unsigned, 8> bits = {0b111, 0b110, 0b011, 0b010, 0b101, 0b100, 0b001, 0b000};
  const unsigned rgb = bits.at(number % bits.size());
  return {(rgb & 4U) != 0 ? level : 0, (rgb & 2U) != 0 ? level : 0, (rgb & 1U) != 0 ? level : 0};
}

Rgb colour_at(std::size_t band, std::uint32_t x, std::uint32_t period) {
  const double place = static_cast<double>(x % period) / period;
  constexpr double bar_level = 0.75;
  switch (band) {
    case 0:
      return bar(static_cast<std::uint32_t>(place * 8), bar_level);
    case 1:
      return bar(7 - static_cast<std::uint32_t>(place * 16) % 8, 1.0);
    default: {
      const double level = 1 - std::abs(2 * place - 1);  // up and down again, to avoid a seam
      return {level, level, level};
    }
  }
}

struct Yuv {
  double y = 0;  // 0 … 1
  double u = 0;  // -0.5 … 0.5
  double v = 0;
};

/// ITU-R BT.709-6 §3.2 and §3.3.
Yuv to_yuv(const Rgb& rgb) {
  const LumaWeights weights = luma_weights(ColourMatrix::bt709, 0);
  const double y = weights.kr * rgb.r + (1 - weights.kr - weights.kb) * rgb.g + weights.kb * rgb.b;
  return {y, (rgb.b - y) / (2 * (1 - weights.kb)), (rgb.r - y) / (2 * (1 - weights.kr))};
}

std::uint8_t byte_of(double level) {
  return static_cast<std::uint8_t>(std::lround(level * 255));
}

/// Limited range, 8 or 10 bits. ITU-R BT.709-6 §3.6.
std::uint16_t luma_code(double y, int depth) {
  return static_cast<std::uint16_t>(std::lround((16 + 219 * y) * (1 << (depth - 8))));
}
std::uint16_t chroma_code(double c, int depth) {
  return static_cast<std::uint16_t>(std::lround((128 + 224 * c) * (1 << (depth - 8))));
}

/// One component of a texel, by its letter in the table of pixel formats.
std::uint16_t code_of(const PixelFormatInfo& format, char component, const Rgb& pixel, const Yuv& chroma) {
  constexpr std::uint16_t opaque = 255;
  switch (component) {
    case 'R':
      return byte_of(pixel.r);
    case 'G':
      return byte_of(pixel.g);
    case 'B':
      return byte_of(pixel.b);
    case 'Y':
      return format.is_yuv ? luma_code(to_yuv(pixel).y, format.depth) : byte_of(to_yuv(pixel).y);
    case 'U':
      return chroma_code(chroma.u, format.depth);
    case 'V':
      return chroma_code(chroma.v, format.depth);
    case 'A':
    case '0':  // unused
      return opaque;
    default:
      throw Error::failed(std::string("the test picture cannot make the component '") + component + "'");
  }
}

/// Writes one texel of a plane. `left` and `right` are the pixels that it covers in its row; equal if it covers only
/// one.
void put_texel(const PixelFormatInfo& format, std::uint32_t plane, const Rgb& left, const Rgb& right, std::byte* to) {
  const Yuv chroma = to_yuv(average(left, right));
  const Rgb* pixel = &left;
  for (const char component : format.planes.at(plane).components) {
    const auto code = static_cast<std::uint16_t>(code_of(format, component, *pixel, chroma) << format.shift);
    pixel = component == 'Y' ? &right : pixel;  // the second luma belongs to the second pixel
    *to++ = static_cast<std::byte>(code & 0xff);
    if (format.depth > 8) {
      *to++ = static_cast<std::byte>(code >> 8);  // little-endian, as the format's name says
    }
  }
}

constexpr std::uint32_t even(std::uint32_t pixels) {
  return (pixels + 1) & ~std::uint32_t{1};
}

/// The band's offset at `index` within one period, in pixels; always even. A 3840-pixel band takes 8, 4 or 16 seconds
/// at 60 fps.
std::uint32_t shift_pixels(std::size_t band, std::uint64_t index, std::uint32_t period) {
  constexpr std::array<std::uint64_t, 3> pixels_per_frame = {8, 16, 4};
  const auto moved =
      static_cast<std::uint32_t>(index % period * pixels_per_frame.at(band) % period) & ~std::uint32_t{1};
  constexpr std::size_t band_to_the_right = 1;
  return band == band_to_the_right && moved != 0 ? period - moved : moved;
}

}  // namespace

BarsPicture::BarsPicture(const FrameLayout& layout) : layout_(layout), period_pixels_(even(layout.width)) {
  const PixelFormatInfo& format = info(layout_.format);
  for (std::uint32_t p = 0; p < layout_.plane_count; ++p) {
    const PlaneShape& shape = format.planes.at(p);
    const std::uint32_t texels = (period_pixels_ >> shape.log2_width) * 2;
    const std::uint32_t second = (std::uint32_t{1} << shape.log2_width) - 1;
    for (std::size_t band = 0; band < band_count; ++band) {
      Row& row = rows_.at(p).at(band);
      row.resize(std::size_t{texels} * shape.bytes_per_texel);
      for (std::uint32_t i = 0; i < texels; ++i) {
        const std::uint32_t x = i << shape.log2_width;
        const Rgb left = colour_at(band, x, period_pixels_);
        std::byte* texel = row.data() + std::size_t{i} * shape.bytes_per_texel;
        put_texel(format, p, left, colour_at(band, x + second, period_pixels_), texel);
      }
    }
  }
}

/// Bars to two thirds of the height, narrow bars to three quarters, then the ramp. Boundaries are at even rows, for
/// half-height chroma.
std::size_t BarsPicture::band_at(std::uint32_t pixel_row) const noexcept {
  const std::uint32_t pair = pixel_row / 2;
  const std::uint32_t pairs = even(layout_.height) / 2;
  return pair * 3 < pairs * 2 ? 0 : pair * 4 < pairs * 3 ? 1 : 2;
}

/// The first row of a plane that begins at `from_bytes` of the payload or after it.
std::uint32_t BarsPicture::row_from(const PlaneLayout& plane, std::uint64_t from_bytes) noexcept {
  const std::uint64_t in_plane = from_bytes - std::min(from_bytes, plane.offset_bytes);
  const std::uint64_t row = (in_plane + plane.pitch_bytes - 1) / plane.pitch_bytes;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(row, plane.rows));
}

void BarsPicture::draw(std::span<std::byte> frame, std::uint64_t index, const ByteRange& part) const noexcept {
  const PixelFormatInfo& format = info(layout_.format);
  for (std::uint32_t p = 0; p < layout_.plane_count; ++p) {
    const PlaneShape& shape = format.planes[p];
    const PlaneLayout& plane = layout_.planes[p];
    const std::uint32_t first = row_from(plane, part.offset_bytes);
    const std::uint32_t end = row_from(plane, part.end_bytes());
    std::byte* to = frame.data() + plane.offset_bytes + std::uint64_t{first} * plane.pitch_bytes;
    for (std::uint32_t r = first; r < end; ++r) {
      const std::size_t band = band_at(r << shape.log2_height);
      const std::size_t shift =
          (shift_pixels(band, index, period_pixels_) >> shape.log2_width) * std::size_t{shape.bytes_per_texel};
      std::memcpy(to, rows_[p][band].data() + shift, plane.row_bytes);
      to += plane.pitch_bytes;
    }
  }
}

}  // namespace framewire
