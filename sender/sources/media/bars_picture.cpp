#include "sender/sources/media/bars_picture.hpp"

#include <cmath>
#include <cstring>

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
      const double level = 1 - std::abs(2 * place - 1);  // up and down again, so that it has no seam
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
std::uint16_t luma_code(double y, int bits) {
  return static_cast<std::uint16_t>(std::lround((16 + 219 * y) * (1 << (bits - 8))));
}
std::uint16_t chroma_code(double c, int bits) {
  return static_cast<std::uint16_t>(std::lround((128 + 224 * c) * (1 << (bits - 8))));
}

template <std::size_t count>
void put_bytes(std::byte* to, const std::array<std::uint16_t, count>& values) {
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = static_cast<std::byte>(values.at(i));
  }
}

template <std::size_t count>
void put_words(std::byte* to, const std::array<std::uint16_t, count>& values, int shift) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto word = static_cast<std::uint16_t>(values.at(i) << shift);
    to[2 * i] = static_cast<std::byte>(word & 0xff);  // little-endian, as the format's name says
    to[2 * i + 1] = static_cast<std::byte>(word >> 8);
  }
}

void put_rgb(PixelFormat format, const Rgb& colour, std::byte* to) {
  const std::uint16_t r = byte_of(colour.r);
  const std::uint16_t g = byte_of(colour.g);
  const std::uint16_t b = byte_of(colour.b);
  constexpr std::uint16_t opaque = 255;
  switch (format) {
    case PixelFormat::rgba:
    case PixelFormat::rgb0:
      return put_bytes<4>(to, {r, g, b, opaque});
    case PixelFormat::bgra:
    case PixelFormat::bgr0:
      return put_bytes<4>(to, {b, g, r, opaque});
    case PixelFormat::rgb24:
      return put_bytes<3>(to, {r, g, b});
    case PixelFormat::bgr24:
      return put_bytes<3>(to, {b, g, r});
    default:  // gray8
      return put_bytes<1>(to, {byte_of(to_yuv(colour).y)});
  }
}

/// One texel of a YUV plane; `left` and `right` are the pixels that it covers in its row, the same where it covers one.
void put_yuv(const PixelFormatInfo& format, std::uint32_t plane, const Rgb& left, const Rgb& right, std::byte* to) {
  const int bits = format.bits;
  const Yuv chroma = to_yuv(average(left, right));
  const std::uint16_t y0 = luma_code(to_yuv(left).y, bits);
  const std::uint16_t y1 = luma_code(to_yuv(right).y, bits);
  const std::uint16_t u = chroma_code(chroma.u, bits);
  const std::uint16_t v = chroma_code(chroma.v, bits);
  constexpr int p010_shift = 6;  // P010 has its ten bits at the top
  switch (format.format) {
    case PixelFormat::uyvy422:
      return put_bytes<4>(to, {u, y0, v, y1});
    case PixelFormat::yuyv422:
      return put_bytes<4>(to, {y0, u, y1, v});
    case PixelFormat::nv12:
      return plane == 0 ? put_bytes<1>(to, {y0}) : put_bytes<2>(to, {u, v});
    case PixelFormat::p010le:
      return plane == 0 ? put_words<1>(to, {y0}, p010_shift) : put_words<2>(to, {u, v}, p010_shift);
    default: {
      const std::uint16_t value = plane == 0 ? y0 : plane == 1 ? u : v;
      return bits > 8 ? put_words<1>(to, {value}, 0) : put_bytes<1>(to, {value});
    }
  }
}

constexpr std::uint32_t even(std::uint32_t pixels) {
  return (pixels + 1) & ~std::uint32_t{1};
}

/// How far a band has moved at `index`, in pixels, even, within one period; a 3840 wide band takes 8, 4 or 16 seconds
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
        if (format.is_yuv) {
          put_yuv(format, p, left, colour_at(band, x + second, period_pixels_), texel);
        } else {
          put_rgb(layout_.format, left, texel);
        }
      }
    }
  }
}

/// Two thirds bars, then narrow bars to three quarters, then the ramp; at even rows, so that half-height chroma fits.
std::size_t BarsPicture::band_at(std::uint32_t pixel_row) const noexcept {
  const std::uint32_t pair = pixel_row / 2;
  const std::uint32_t pairs = even(layout_.height) / 2;
  return pair * 3 < pairs * 2 ? 0 : pair * 4 < pairs * 3 ? 1 : 2;
}

void BarsPicture::draw(std::span<std::byte> frame, std::uint64_t index) const noexcept {
  const PixelFormatInfo& format = info(layout_.format);
  for (std::uint32_t p = 0; p < layout_.plane_count; ++p) {
    const PlaneShape& shape = format.planes[p];
    const PlaneLayout& plane = layout_.planes[p];
    std::byte* to = frame.data() + plane.offset_bytes;
    for (std::uint32_t r = 0; r < plane.rows; ++r) {
      const std::size_t band = band_at(r << shape.log2_height);
      const std::size_t shift =
          (shift_pixels(band, index, period_pixels_) >> shape.log2_width) * std::size_t{shape.bytes_per_texel};
      std::memcpy(to, rows_[p][band].data() + shift, plane.row_bytes);
      to += plane.pitch_bytes;
    }
  }
}

}  // namespace framewire
