// How well frames are drawn.
#pragma once

#include <optional>
#include <string_view>

#include "frame/colour.hpp"

namespace framewire {

enum class Quality {
  fast,  // FramePainter: shrinks as a Downscale says, interpolates linearly; colours as they are coded
  good,  // PlaceboPainter: better filters, dithering, tone and gamut mapping
};

constexpr std::string_view name(Quality quality) noexcept {
  return quality == Quality::fast ? "fast" : "good";
}

/// Whether values mean light beyond what a usual screen shows.
constexpr bool is_hdr(const Colour& colour) noexcept {
  return colour.transfer == ColourTransfer::pq || colour.transfer == ColourTransfer::hlg;
}

/// The quality of frames with these colours. Nothing `wanted`: what the renderer can do in time. HDR is always drawn
/// well, for as it is coded it is hardly a picture.
constexpr Quality quality_for(std::optional<Quality> wanted, const Colour& colour, bool is_software) noexcept {
  return is_hdr(colour) ? Quality::good : wanted.value_or(is_software ? Quality::fast : Quality::good);
}

}  // namespace framewire
