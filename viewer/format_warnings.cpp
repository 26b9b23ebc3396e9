#include "viewer/format_warnings.hpp"

namespace framewire {

namespace {

/// How values of this transfer function look on an sRGB screen; empty if close enough, or if they are mapped.
std::string effect_of(ColourTransfer transfer, Quality quality) {
  switch (transfer) {
    case ColourTransfer::linear:
      return quality == Quality::good ? "" : "it looks too dark";
    case ColourTransfer::smpte428:
      return "it looks too dark";
    case ColourTransfer::log100:
    case ColourTransfer::log316:
      return "it looks pale";
    case ColourTransfer::pq:  // always mapped
    case ColourTransfer::hlg:
    case ColourTransfer::bt709:
    case ColourTransfer::unspecified:
    case ColourTransfer::gamma22:
    case ColourTransfer::gamma28:
    case ColourTransfer::smpte170m:
    case ColourTransfer::smpte240m:
    case ColourTransfer::iec61966_2_4:
    case ColourTransfer::bt1361:
    case ColourTransfer::srgb:
    case ColourTransfer::bt2020_10:
    case ColourTransfer::bt2020_12:
      break;
  }
  return "";
}

/// Whether these primaries look visibly wrong on a BT.709 screen.
bool look_pale(ColourPrimaries primaries, Quality quality) noexcept {
  switch (primaries) {
    case ColourPrimaries::bt2020:
    case ColourPrimaries::film:
    case ColourPrimaries::smpte431:
    case ColourPrimaries::display_p3:
      return quality == Quality::fast;
    case ColourPrimaries::smpte428:
    case ColourPrimaries::bt470m:
      return true;
    case ColourPrimaries::bt709:
    case ColourPrimaries::unspecified:
    case ColourPrimaries::bt470bg:
    case ColourPrimaries::smpte170m:
    case ColourPrimaries::smpte240m:
    case ColourPrimaries::ebu3213:
      break;
  }
  return false;
}

bool is_converted(ColourMatrix matrix, Quality quality) noexcept {
  const bool is_placebos =
      matrix == ColourMatrix::ycgco || matrix == ColourMatrix::bt2020c || matrix == ColourMatrix::ictcp;
  return has_luma_weights(matrix) || (quality == Quality::good && is_placebos);
}

}  // namespace

std::vector<std::string> format_warnings(const StreamFormat& format, Quality usual) {
  std::vector<std::string> warnings;
  const PixelFormat pixels = format.layout.format;
  if (pixels == PixelFormat::bytes) {
    return warnings;
  }
  const Colour& colour = format.colour;
  const Quality quality = quality_for(usual, colour, false);
  if (const std::string effect = effect_of(colour.transfer, quality); !effect.empty()) {
    warnings.push_back("the stream has transfer " + std::string(name(colour.transfer)) +
                       ", which is shown as it is coded: " + effect);
  }
  if (info(pixels).is_yuv && !is_converted(colour.matrix, quality)) {
    const std::string taken = luma_weights(ColourMatrix::unspecified, format.layout.height).kr ==
                                      luma_weights(ColourMatrix::bt709, format.layout.height).kr
                                  ? "bt709"
                                  : "smpte170m";
    warnings.push_back("the stream has matrix " + std::string(name(colour.matrix)) +
                       ", which is not supported and is shown as " + taken + ": its colours are wrong");
  }
  if (look_pale(colour.primaries, quality)) {
    warnings.push_back("the stream has primaries " + std::string(name(colour.primaries)) +
                       ", which are shown as if they were bt709: its colours look pale");
  }
  if (is_interlaced(format.field_order)) {
    warnings.push_back(
        "the stream is interlaced (" + std::string(name(format.field_order)) +
        ") and is shown as it is, both fields woven together; to deinterlace it, do so before it is sent");
  }
  return warnings;
}

}  // namespace framewire
