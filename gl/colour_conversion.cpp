#include "gl/colour_conversion.hpp"

namespace framewire {

namespace {

/// value = texel * scale - shift.
struct Span {
  double scale;
  double shift;
};

/// The code value of a texel of 1.0. Codes have the format's depth and may be at any position within 16 bits.
double codes_of_full_texel(const PixelFormatInfo& shape) noexcept {
  return shape.depth == 8 ? 255.0 : 65535.0 / static_cast<double>(1U << shape.shift);
}

Span luma_span(const PixelFormatInfo& shape, bool is_limited) noexcept {
  const double codes = codes_of_full_texel(shape);
  const double unit = static_cast<double>(1U << (shape.depth - 8U));
  if (is_limited) {
    return {codes / (219.0 * unit), 16.0 / 219.0};
  }
  return {codes / (256.0 * unit - 1.0), 0.0};
}

Span chroma_span(const PixelFormatInfo& shape, bool is_limited) noexcept {
  const double codes = codes_of_full_texel(shape);
  const double unit = static_cast<double>(1U << (shape.depth - 8U));
  if (is_limited) {
    return {codes / (224.0 * unit), 128.0 / 224.0};
  }
  const double last = 256.0 * unit - 1.0;
  return {codes / last, 128.0 * unit / last};
}

bool is_limited_range(const PixelFormatInfo& shape, ColourRange range) noexcept {
  return range == ColourRange::unspecified ? shape.is_yuv : range == ColourRange::limited;
}

float narrow(double value) noexcept {
  return static_cast<float>(value);
}

ColourConversion rgb_conversion(const Span& span) noexcept {
  const float scale = narrow(span.scale);
  const float shift = narrow(-span.shift);
  return {{scale, 0, 0, 0, scale, 0, 0, 0, scale}, {shift, shift, shift}};
}

ColourConversion yuv_conversion(const Span& luma, const Span& chroma, const LumaWeights& weights) noexcept {
  const double kr = weights.kr;
  const double kb = weights.kb;
  const double kg = 1.0 - kr - kb;
  // R = y + 2(1-Kr)v, B = y + 2(1-Kb)u, and G from y = Kr R + Kg G + Kb B.
  const double red_v = 2.0 * (1.0 - kr);
  const double blue_u = 2.0 * (1.0 - kb);
  const double green_u = -kb * blue_u / kg;
  const double green_v = -kr * red_v / kg;
  const float y = narrow(luma.scale);
  return {{y, y, y,                                                           //
           0, narrow(green_u * chroma.scale), narrow(blue_u * chroma.scale),  //
           narrow(red_v * chroma.scale), narrow(green_v * chroma.scale), 0},
          {narrow(-luma.shift - red_v * chroma.shift), narrow(-luma.shift - (green_u + green_v) * chroma.shift),
           narrow(-luma.shift - blue_u * chroma.shift)}};
}

}  // namespace

ChromaSite chroma_site(ChromaLocation location) noexcept {
  switch (location) {
    case ChromaLocation::unspecified:
    case ChromaLocation::left:
      break;
    case ChromaLocation::center:
      return {1, 1};
    case ChromaLocation::topleft:
      return {0, 0};
    case ChromaLocation::top:
      return {1, 0};
    case ChromaLocation::bottomleft:
      return {0, 2};
    case ChromaLocation::bottom:
      return {1, 2};
  }
  return {0, 1};
}

ColourConversion colour_conversion(PixelFormat format, const Colour& colour, std::uint32_t height) noexcept {
  const PixelFormatInfo& shape = info(format);
  const bool is_limited = is_limited_range(shape, colour.range);
  const Span luma = luma_span(shape, is_limited);
  return shape.is_yuv ? yuv_conversion(luma, chroma_span(shape, is_limited), luma_weights(colour.matrix, height))
                      : rgb_conversion(luma);
}

}  // namespace framewire
