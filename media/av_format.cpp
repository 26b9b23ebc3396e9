#include "media/av_format.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace framewire::libav {

namespace {

/// Among equally near formats the first one is chosen.
constexpr std::array pairs = {
    std::pair{PixelFormat::rgba, AV_PIX_FMT_RGBA},
    std::pair{PixelFormat::bgra, AV_PIX_FMT_BGRA},
    std::pair{PixelFormat::rgb0, AV_PIX_FMT_RGB0},
    std::pair{PixelFormat::bgr0, AV_PIX_FMT_BGR0},
    std::pair{PixelFormat::rgb24, AV_PIX_FMT_RGB24},
    std::pair{PixelFormat::bgr24, AV_PIX_FMT_BGR24},
    std::pair{PixelFormat::gray8, AV_PIX_FMT_GRAY8},
    std::pair{PixelFormat::yuv420p, AV_PIX_FMT_YUV420P},
    std::pair{PixelFormat::yuv422p, AV_PIX_FMT_YUV422P},
    std::pair{PixelFormat::yuv444p, AV_PIX_FMT_YUV444P},
    std::pair{PixelFormat::uyvy422, AV_PIX_FMT_UYVY422},
    std::pair{PixelFormat::yuyv422, AV_PIX_FMT_YUYV422},
    std::pair{PixelFormat::yuv420p10le, AV_PIX_FMT_YUV420P10LE},
    std::pair{PixelFormat::yuv422p10le, AV_PIX_FMT_YUV422P10LE},
    std::pair{PixelFormat::nv12, AV_PIX_FMT_NV12},
    std::pair{PixelFormat::p010le, AV_PIX_FMT_P010LE},
};

bool is_rgb(AVPixelFormat format) noexcept {
  const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(format);
  return descriptor != nullptr && (descriptor->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) != 0;
}

bool is_grey(AVPixelFormat format) noexcept {
  const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(format);
  return descriptor != nullptr && descriptor->nb_components <= 2 && !is_rgb(format);
}

bool is_full_range_twin(AVPixelFormat format) noexcept {
  return without_range(format) != format;
}

}  // namespace

AVPixelFormat to_av(PixelFormat format) noexcept {
  format = colour_format(format);
  for (const auto& [ours, theirs] : pairs) {
    if (ours == format) {
      return theirs;
    }
  }
  return AV_PIX_FMT_NONE;
}

std::optional<PixelFormat> carried(AVPixelFormat format) noexcept {
  const AVPixelFormat plain = without_range(format);
  for (const auto& [ours, theirs] : pairs) {
    if (theirs == plain) {
      return ours;
    }
  }
  return std::nullopt;
}

PixelFormat nearest_carried(AVPixelFormat format, const std::function<bool(PixelFormat)>& is_wanted) noexcept {
  if (is_grey(format)) {
    return PixelFormat::gray8;
  }
  // RGB stays RGB and YUV stays YUV: libav alone would choose 10-bit YUV for 16-bit RGB.
  std::array<AVPixelFormat, pairs.size() + 1> list{};
  std::size_t count = 0;
  for (const auto& [ours, theirs] : pairs) {
    if (is_rgb(theirs) == is_rgb(format) && !is_grey(theirs) && (!is_wanted || is_wanted(ours))) {
      list.at(count++) = theirs;
    }
  }
  list.at(count) = AV_PIX_FMT_NONE;  // libav's list terminator
  const AVPixelFormat best = avcodec_find_best_pix_fmt_of_list(list.data(), without_range(format), 1, nullptr);
  return carried(best).value_or(PixelFormat::rgba);
}

AVPixelFormat without_range(AVPixelFormat format) noexcept {
  switch (format) {
    case AV_PIX_FMT_YUVJ420P:
      return AV_PIX_FMT_YUV420P;
    case AV_PIX_FMT_YUVJ422P:
      return AV_PIX_FMT_YUV422P;
    case AV_PIX_FMT_YUVJ444P:
      return AV_PIX_FMT_YUV444P;
    case AV_PIX_FMT_YUVJ440P:
      return AV_PIX_FMT_YUV440P;
    case AV_PIX_FMT_YUVJ411P:
      return AV_PIX_FMT_YUV411P;
    default:
      return format;
  }
}

Colour colour_of(const AVFrame& frame) noexcept {
  const auto format = static_cast<AVPixelFormat>(frame.format);
  Colour colour =
      colour_from_numbers(static_cast<std::uint8_t>(frame.colorspace), static_cast<std::uint8_t>(frame.color_range),
                          static_cast<std::uint8_t>(frame.color_trc), static_cast<std::uint8_t>(frame.color_primaries));
  if (is_rgb(format)) {
    colour.matrix = ColourMatrix::rgb;
    colour.range = ColourRange::full;
    return colour;
  }
  if (colour.matrix == ColourMatrix::rgb) {  // the stream's tag is wrong for YUV data
    colour.matrix = ColourMatrix::unspecified;
  }
  // Untagged grey is full range, as in libswscale.
  if (is_full_range_twin(format) || (is_grey(format) && colour.range == ColourRange::unspecified)) {
    colour.range = ColourRange::full;
  }
  return colour;
}

Colour converted_colour(const Colour& source, AVPixelFormat source_format, PixelFormat target,
                        std::uint32_t height) noexcept {
  Colour colour = source;
  const bool target_is_rgb = !info(target).is_yuv && !is_gray(target);
  if (target_is_rgb) {
    colour.matrix = ColourMatrix::rgb;
    colour.range = ColourRange::full;
  } else if (is_rgb(source_format)) {
    colour.matrix = likely_matrix(height);
    colour.range = is_gray(target) ? ColourRange::full : ColourRange::limited;
  }
  return colour;
}

ChromaLocation chroma_location_of(const AVFrame& frame, const AVCodecParameters& stream) noexcept {
  const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  if (descriptor == nullptr || (descriptor->log2_chroma_w == 0 && descriptor->log2_chroma_h == 0)) {
    return ChromaLocation::unspecified;
  }
  const auto own = chroma_location_from_number(frame.chroma_location);
  return own != ChromaLocation::unspecified ? own : chroma_location_from_number(stream.chroma_location);
}

ChromaLocation converted_chroma_location(ChromaLocation source, AVPixelFormat source_format,
                                         PixelFormat target) noexcept {
  const AVPixFmtDescriptor* from = av_pix_fmt_desc_get(source_format);
  const AVPixFmtDescriptor* to = av_pix_fmt_desc_get(to_av(target));
  if (from == nullptr || to == nullptr || (to->log2_chroma_w == 0 && to->log2_chroma_h == 0)) {
    return ChromaLocation::unspecified;
  }
  const bool is_same_grid =
      from->log2_chroma_w == to->log2_chroma_w && from->log2_chroma_h == to->log2_chroma_h && !is_rgb(source_format);
  return is_same_grid ? source : ChromaLocation::center;  // libswscale's place for new chroma samples
}

FieldOrder field_order_of(const AVCodecParameters& stream, const AVFrame& first) noexcept {
  const auto said = field_order_from_number(stream.field_order);
  if (said != FieldOrder::unspecified) {
    return said;
  }
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  const bool is_interlaced = (first.flags & AV_FRAME_FLAG_INTERLACED) != 0;
  const bool top_is_first = (first.flags & AV_FRAME_FLAG_TOP_FIELD_FIRST) != 0;
#else
  const bool is_interlaced = first.interlaced_frame != 0;
  const bool top_is_first = first.top_field_first != 0;
#endif
  return !is_interlaced ? FieldOrder::unspecified : top_is_first ? FieldOrder::tt : FieldOrder::bb;
}

AlphaMode alpha_mode_of(const AVFrame& frame, AVCodecID codec) noexcept {
  const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  if (descriptor == nullptr || (descriptor->flags & AV_PIX_FMT_FLAG_ALPHA) == 0) {
    return AlphaMode::unspecified;
  }
  switch (codec) {  // FFmpeg reports this only from release 8 on; these formats define it
    case AV_CODEC_ID_PNG:
    case AV_CODEC_ID_APNG:
    case AV_CODEC_ID_WEBP:
    case AV_CODEC_ID_GIF:
      return AlphaMode::straight;
    default:
      return AlphaMode::unspecified;
  }
}

const char* name(AVPixelFormat format) noexcept {
  const char* text = av_get_pix_fmt_name(format);
  return text != nullptr ? text : "unknown";
}

std::optional<Rational> to_rational(AVRational fraction) noexcept {
  if (fraction.num <= 0 || fraction.den <= 0) {
    return std::nullopt;
  }
  return Rational{static_cast<std::uint32_t>(fraction.num), static_cast<std::uint32_t>(fraction.den)};
}

void describe_memory(const FrameLayout& layout, const std::byte* bytes, AVFrame& frame) noexcept {
  frame.format = to_av(layout.format);
  frame.width = static_cast<int>(layout.width);
  frame.height = static_cast<int>(layout.height);
  for (std::uint32_t i = 0; i < layout.plane_count; ++i) {
    const PlaneLayout& plane = layout.planes.at(i);
    // libav has no const frames; the callers only read.
    frame.data[i] = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(bytes)) + plane.offset_bytes;
    frame.linesize[i] = static_cast<int>(plane.pitch_bytes);
  }
}

void copy_packed(const AVFrame& picture, const FrameLayout& layout, std::byte* to) noexcept {
  for (std::uint32_t i = 0; i < layout.plane_count; ++i) {
    const PlaneLayout& plane = layout.planes[i];
    const std::uint8_t* from = picture.data[i];
    const std::ptrdiff_t from_pitch_bytes = picture.linesize[i];  // negative if the picture is stored bottom up
    std::byte* row_to = to + plane.offset_bytes;
    if (from_pitch_bytes == static_cast<std::ptrdiff_t>(plane.row_bytes)) {
      std::memcpy(row_to, from, std::size_t{plane.row_bytes} * plane.rows);
      continue;
    }
    for (std::uint32_t row = 0; row < plane.rows; ++row) {
      std::memcpy(row_to, from, plane.row_bytes);
      row_to += plane.row_bytes;
      from += from_pitch_bytes;
    }
  }
}

}  // namespace framewire::libav
