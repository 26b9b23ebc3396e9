#include "gl/placebo_colour.hpp"

namespace framewire {

namespace {

/// Frames have no metadata about how bright they are. Most HDR is made on screens of 1000 cd/m², and so is what HLG
/// means by its full scale. PQ's own limit, 10000, would make everything dark for highlights that nobody has.
constexpr float hdr_peak_nits = 1000;

pl_color_system system_of(const Colour& colour) noexcept {
  switch (colour.matrix) {
    case ColourMatrix::ycgco:
      return PL_COLOR_SYSTEM_YCGCO;
    case ColourMatrix::bt2020c:
      return PL_COLOR_SYSTEM_BT_2020_C;
    case ColourMatrix::ictcp:
      return colour.transfer == ColourTransfer::hlg ? PL_COLOR_SYSTEM_BT_2100_HLG : PL_COLOR_SYSTEM_BT_2100_PQ;
    case ColourMatrix::rgb:
    case ColourMatrix::bt709:
    case ColourMatrix::unspecified:
    case ColourMatrix::fcc:
    case ColourMatrix::bt470bg:
    case ColourMatrix::smpte170m:
    case ColourMatrix::smpte240m:
    case ColourMatrix::bt2020nc:
    case ColourMatrix::smpte2085:
    case ColourMatrix::chroma_derived_nc:
    case ColourMatrix::chroma_derived_c:
      break;
  }
  return PL_COLOR_SYSTEM_RGB;
}

/// The curve from coded values to light on a screen. Cameras' curves (bt709 and its like) are shown by BT.1886. The
/// logarithmic ones, which libplacebo lacks, are so old and rare that they stay as coded, as the fast quality has them.
pl_color_transfer transfer_of(ColourTransfer transfer) noexcept {
  switch (transfer) {
    case ColourTransfer::gamma22:
      return PL_COLOR_TRC_GAMMA22;
    case ColourTransfer::gamma28:
      return PL_COLOR_TRC_GAMMA28;
    case ColourTransfer::smpte428:
      return PL_COLOR_TRC_GAMMA26;
    case ColourTransfer::linear:
      return PL_COLOR_TRC_LINEAR;
    case ColourTransfer::srgb:
      return PL_COLOR_TRC_SRGB;
    case ColourTransfer::pq:
      return PL_COLOR_TRC_PQ;
    case ColourTransfer::hlg:
      return PL_COLOR_TRC_HLG;
    case ColourTransfer::bt709:
    case ColourTransfer::unspecified:
    case ColourTransfer::smpte170m:
    case ColourTransfer::smpte240m:
    case ColourTransfer::log100:
    case ColourTransfer::log316:
    case ColourTransfer::iec61966_2_4:
    case ColourTransfer::bt1361:
    case ColourTransfer::bt2020_10:
    case ColourTransfer::bt2020_12:
      break;
  }
  return PL_COLOR_TRC_BT_1886;
}

/// libplacebo guesses unspecified primaries from the size; BT.709's are what the screen has. HDR exists with those of
/// BT.2020 only.
pl_color_primaries primaries_of(const Colour& colour) noexcept {
  switch (colour.primaries) {
    case ColourPrimaries::bt470m:
      return PL_COLOR_PRIM_BT_470M;
    case ColourPrimaries::bt470bg:
      return PL_COLOR_PRIM_BT_601_625;
    case ColourPrimaries::smpte170m:
    case ColourPrimaries::smpte240m:
      return PL_COLOR_PRIM_BT_601_525;
    case ColourPrimaries::film:
      return PL_COLOR_PRIM_FILM_C;
    case ColourPrimaries::bt2020:
      return PL_COLOR_PRIM_BT_2020;
    case ColourPrimaries::smpte431:
      return PL_COLOR_PRIM_DCI_P3;
    case ColourPrimaries::display_p3:
      return PL_COLOR_PRIM_DISPLAY_P3;
    case ColourPrimaries::ebu3213:
      return PL_COLOR_PRIM_EBU_3213;
    case ColourPrimaries::unspecified:
      return pl_color_transfer_is_hdr(transfer_of(colour.transfer)) ? PL_COLOR_PRIM_BT_2020 : PL_COLOR_PRIM_BT_709;
    case ColourPrimaries::bt709:
    case ColourPrimaries::smpte428:  // XYZ, which libplacebo has as a matrix only
      break;
  }
  return PL_COLOR_PRIM_BT_709;
}

}  // namespace

bool is_placebo_matrix(PixelFormat format, ColourMatrix matrix) noexcept {
  return info(format).is_yuv && system_of({.matrix = matrix}) != PL_COLOR_SYSTEM_RGB;
}

pl_color_repr placebo_representation(PixelFormat format, const Colour& colour) noexcept {
  pl_color_repr representation{};
  representation.sys = PL_COLOR_SYSTEM_RGB;
  representation.levels = PL_COLOR_LEVELS_FULL;
  if (is_placebo_matrix(format, colour.matrix)) {
    const PixelFormatInfo& shape = info(format);
    representation.sys = system_of(colour);
    representation.levels = colour.range == ColourRange::full ? PL_COLOR_LEVELS_FULL : PL_COLOR_LEVELS_LIMITED;
    representation.bits = {
        .sample_depth = shape.depth > 8 ? 16 : 8, .color_depth = shape.depth, .bit_shift = shape.shift};
  }
  return representation;
}

pl_color_space placebo_source(const Colour& colour) noexcept {
  pl_color_space source{};
  source.primaries = primaries_of(colour);
  source.transfer = transfer_of(colour.transfer);
  if (pl_color_transfer_is_hdr(source.transfer)) {
    source.hdr.max_luma = hdr_peak_nits;
  }
  return source;
}

/// Players show SDR with the usual primaries as it is coded, although screens differ a little from what it was made on;
/// so do we, and both qualities agree. Wide gamuts would look pale, so they are mapped, and keep their curve. HDR and
/// linear light get the curve of a desktop's window, sRGB.
pl_color_space placebo_target(const pl_color_space& source) noexcept {
  const bool is_hdr = pl_color_transfer_is_hdr(source.transfer);
  if (!is_hdr && source.transfer != PL_COLOR_TRC_LINEAR && !pl_color_primaries_is_wide_gamut(source.primaries)) {
    return source;
  }
  pl_color_space target{};
  target.primaries = pl_color_primaries_is_wide_gamut(source.primaries) ? PL_COLOR_PRIM_BT_709 : source.primaries;
  target.transfer = is_hdr || source.transfer == PL_COLOR_TRC_LINEAR ? PL_COLOR_TRC_SRGB : source.transfer;
  return target;
}

}  // namespace framewire
