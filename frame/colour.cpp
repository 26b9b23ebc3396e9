#include "frame/colour.hpp"

namespace framewire {

namespace {

ColourMatrix known(ColourMatrix matrix) noexcept {
  switch (matrix) {
    case ColourMatrix::rgb:
    case ColourMatrix::bt709:
    case ColourMatrix::bt470bg:
    case ColourMatrix::smpte170m:
    case ColourMatrix::bt2020nc:
    case ColourMatrix::unspecified:
      return matrix;
  }
  return ColourMatrix::unspecified;
}

ColourRange known(ColourRange range) noexcept {
  return range == ColourRange::limited || range == ColourRange::full ? range : ColourRange::unspecified;
}

ColourTransfer known(ColourTransfer transfer) noexcept {
  return name(transfer) == "unknown" ? ColourTransfer::unspecified : transfer;
}

ColourPrimaries known(ColourPrimaries primaries) noexcept {
  switch (primaries) {
    case ColourPrimaries::bt709:
    case ColourPrimaries::bt470bg:
    case ColourPrimaries::smpte170m:
    case ColourPrimaries::bt2020:
    case ColourPrimaries::display_p3:
    case ColourPrimaries::unspecified:
      return primaries;
  }
  return ColourPrimaries::unspecified;
}

}  // namespace

Colour colour_from_numbers(std::uint8_t matrix, std::uint8_t range, std::uint8_t transfer,
                           std::uint8_t primaries) noexcept {
  return {known(static_cast<ColourMatrix>(matrix)), known(static_cast<ColourRange>(range)),
          known(static_cast<ColourTransfer>(transfer)), known(static_cast<ColourPrimaries>(primaries))};
}

std::string_view name(ColourMatrix matrix) noexcept {
  switch (matrix) {
    case ColourMatrix::rgb:
      return "gbr";
    case ColourMatrix::bt709:
      return "bt709";
    case ColourMatrix::bt470bg:
      return "bt470bg";
    case ColourMatrix::smpte170m:
      return "smpte170m";
    case ColourMatrix::bt2020nc:
      return "bt2020nc";
    case ColourMatrix::unspecified:
      break;
  }
  return "unknown";
}

std::string_view name(ColourRange range) noexcept {
  switch (range) {
    case ColourRange::limited:
      return "tv";
    case ColourRange::full:
      return "pc";
    case ColourRange::unspecified:
      break;
  }
  return "unknown";
}

std::string_view name(ColourTransfer transfer) noexcept {
  switch (transfer) {
    case ColourTransfer::bt709:
      return "bt709";
    case ColourTransfer::smpte170m:
      return "smpte170m";
    case ColourTransfer::linear:
      return "linear";
    case ColourTransfer::srgb:
      return "iec61966-2-1";
    case ColourTransfer::bt2020_10:
      return "bt2020-10";
    case ColourTransfer::pq:
      return "smpte2084";
    case ColourTransfer::hlg:
      return "arib-std-b67";
    case ColourTransfer::unspecified:
      break;
  }
  return "unknown";
}

ColourMatrix likely_matrix(std::uint32_t height) noexcept {
  constexpr std::uint32_t first_hd_lines = 720;
  return height >= first_hd_lines ? ColourMatrix::bt709 : ColourMatrix::smpte170m;
}

LumaWeights luma_weights(ColourMatrix matrix, std::uint32_t height) noexcept {
  constexpr LumaWeights bt601{0.299, 0.114};
  constexpr LumaWeights bt709{0.2126, 0.0722};
  constexpr LumaWeights bt2020{0.2627, 0.0593};
  switch (matrix) {
    case ColourMatrix::bt470bg:
    case ColourMatrix::smpte170m:
      return bt601;
    case ColourMatrix::bt2020nc:
      return bt2020;
    case ColourMatrix::bt709:
      return bt709;
    case ColourMatrix::rgb:
    case ColourMatrix::unspecified:
      break;
  }
  return likely_matrix(height) == ColourMatrix::bt709 ? bt709 : bt601;
}

}  // namespace framewire
