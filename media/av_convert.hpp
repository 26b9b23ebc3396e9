// Converts a picture's pixel format, size or colour with libswscale. Internal to media/.
#pragma once

#include <cstdint>

#include "frame/frame_layout.hpp"
#include "media/libav.hpp"

namespace framewire::libav {

/// The result of a conversion. `colour` comes from converted_colour().
struct PictureTarget {
  PixelFormat format = PixelFormat::rgba;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  Colour colour;
  bool operator==(const PictureTarget&) const = default;
};

/// Keeps the tables and the picture of the last conversion, so that further frames of a stream allocate nothing. One
/// thread; libswscale uses a few of its own inside convert().
class Converter {
 public:
  /// The converted picture, valid until the next call; null when libswscale does not support the conversion or memory
  /// runs out. `source` should be reference-counted, as frames of decoders are; otherwise libswscale copies it first.
  const AVFrame* convert(const AVFrame& source, const Colour& source_colour, const PictureTarget& target) noexcept;

 private:
  struct Conversion {
    int format = AV_PIX_FMT_NONE;
    int width = 0;
    int height = 0;
    Colour colour;
    PictureTarget target;
    bool operator==(const Conversion&) const = default;
  };
  bool prepare_for(const Conversion& conversion) noexcept;

  Conversion conversion_;
  Scaler scaler_;
  Frame picture_;
};

}  // namespace framewire::libav
