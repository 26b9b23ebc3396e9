#include "media/av_convert.hpp"

#include <algorithm>
#include <thread>

#include "media/av_format.hpp"

namespace framewire::libav {

namespace {

/// libswscale's coefficients for a matrix. frame/colour.hpp defines the meaning of an unspecified matrix.
const int* coefficients(ColourMatrix matrix, int height) noexcept {
  switch (matrix) {
    case ColourMatrix::bt709:
      return sws_getCoefficients(SWS_CS_ITU709);
    case ColourMatrix::bt2020nc:
      return sws_getCoefficients(SWS_CS_BT2020);
    case ColourMatrix::bt470bg:
    case ColourMatrix::smpte170m:
      return sws_getCoefficients(SWS_CS_ITU601);
    case ColourMatrix::fcc:
      return sws_getCoefficients(SWS_CS_FCC);
    case ColourMatrix::smpte240m:
      return sws_getCoefficients(SWS_CS_SMPTE240M);
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
  const bool is_hd = likely_matrix(static_cast<std::uint32_t>(height)) == ColourMatrix::bt709;
  return sws_getCoefficients(is_hd ? SWS_CS_ITU709 : SWS_CS_ITU601);
}

void set_option(SwsContext* scaler, const char* name, std::int64_t value) noexcept {
  av_opt_set_int(scaler, name, value, 0);
}

Frame make_picture(const PictureTarget& target) noexcept {
  Frame picture(av_frame_alloc());
  if (!picture) {
    return nullptr;
  }
  picture->format = to_av(target.format);
  picture->width = static_cast<int>(target.width);
  picture->height = static_cast<int>(target.height);
  return av_frame_get_buffer(picture.get(), 0) == 0 ? std::move(picture) : nullptr;
}

}  // namespace

bool Converter::prepare_for(const Conversion& conversion) noexcept {
  if (scaler_ && picture_ && conversion == conversion_) {
    return true;
  }
  scaler_.reset(sws_alloc_context());
  picture_ = make_picture(conversion.target);
  if (!scaler_ || !picture_) {
    return false;
  }
  SwsContext* scaler = scaler_.get();
  set_option(scaler, "srcw", conversion.width);
  set_option(scaler, "srch", conversion.height);
  set_option(scaler, "src_format", without_range(static_cast<AVPixelFormat>(conversion.format)));
  set_option(scaler, "dstw", conversion.target.width);
  set_option(scaler, "dsth", conversion.target.height);
  set_option(scaler, "dst_format", to_av(conversion.target.format));
  set_option(scaler, "sws_flags", SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP);
  set_option(scaler, "threads", std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, 8));
  const int source_full = conversion.colour.range == ColourRange::full ? 1 : 0;
  const int target_full = conversion.target.colour.range == ColourRange::full ? 1 : 0;
  set_option(scaler, "src_range", source_full);
  set_option(scaler, "dst_range", target_full);
  if (sws_init_context(scaler, nullptr, nullptr) < 0) {
    scaler_.reset();
    return false;
  }
  // libswscale refuses this for pairs without a matrix between them (Bayer). For them the ranges set above suffice.
  constexpr int unchanged = 1 << 16;  // contrast and saturation, 16.16
  sws_setColorspaceDetails(scaler, coefficients(conversion.colour.matrix, conversion.height), source_full,
                           coefficients(conversion.target.colour.matrix, static_cast<int>(conversion.target.height)),
                           target_full, 0, unchanged, unchanged);
  conversion_ = conversion;
  return true;
}

const AVFrame* Converter::convert(const AVFrame& source, const Colour& source_colour,
                                  const PictureTarget& target) noexcept {
  if (!prepare_for({source.format, source.width, source.height, source_colour, target})) {
    return nullptr;
  }
  return sws_scale_frame(scaler_.get(), picture_.get(), &source) >= 0 ? picture_.get() : nullptr;
}

}  // namespace framewire::libav
