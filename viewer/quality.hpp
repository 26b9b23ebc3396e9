// How well frames are drawn.
#pragma once

#include <optional>
#include <string_view>

#include "frame/colour.hpp"

namespace framewire {

enum class Quality {
  fast,  // FramePainter: averages what is shrunk, interpolates linearly; colours as they are coded
  good,  // PlaceboPainter: better filters, dithering, tone and gamut mapping
};

constexpr std::string_view name(Quality quality) noexcept {
  return quality == Quality::fast ? "fast" : "good";
}

/// The quality of frames with these colours. Nothing `wanted`: what the renderer can do in time. HDR is always drawn
/// well, for as it is coded it is hardly a picture.
constexpr Quality quality_for(std::optional<Quality> wanted, const Colour& colour, bool is_software) noexcept {
  const bool is_hdr = colour.transfer == ColourTransfer::pq || colour.transfer == ColourTransfer::hlg;
  return is_hdr ? Quality::good : wanted.value_or(is_software ? Quality::fast : Quality::good);
}

}  // namespace framewire
