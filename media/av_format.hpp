// Maps between libav's pixel formats and colours and framewire's. Internal to media/.
#pragma once

#include <functional>
#include <optional>

#include "frame/colour.hpp"
#include "frame/frame_layout.hpp"
#include "frame/pixel_format.hpp"
#include "media/libav.hpp"

namespace framewire::libav {

AVPixelFormat to_av(PixelFormat format) noexcept;

/// Our format with the same memory layout as a libav format (yuvj420p is full-range yuv420p), or nothing.
std::optional<PixelFormat> carried(AVPixelFormat format) noexcept;

/// Our format that loses least of `format`, among those for which `is_wanted` is true (null: all).
PixelFormat nearest_carried(AVPixelFormat format, const std::function<bool(PixelFormat)>& is_wanted = {}) noexcept;

/// Replaces the deprecated full-range twins (yuvj420p …) by their plain names; other formats stay the same.
AVPixelFormat without_range(AVPixelFormat format) noexcept;

/// The colour properties of a decoded frame, if it is not converted.
Colour colour_of(const AVFrame& frame) noexcept;

/// The colour properties after conversion to `target`. RGB becomes limited-range YUV: BT.709 from 720 lines on, else
/// BT.601, the usual assumption of readers for untagged video.
Colour converted_colour(const Colour& source, AVPixelFormat source_format, PixelFormat target,
                        std::uint32_t height) noexcept;

/// The chroma location of a decoded frame; `unspecified` if it has no chroma or its chroma is not subsampled. The
/// frame's own value takes precedence over the container's.
ChromaLocation chroma_location_of(const AVFrame& frame, const AVCodecParameters& stream) noexcept;

/// The chroma location after conversion to `target`: unchanged, or where libswscale puts new samples.
ChromaLocation converted_chroma_location(ChromaLocation source, AVPixelFormat source_format,
                                         PixelFormat target) noexcept;

/// A stream's field order: as the container or the decoder gives it for the whole stream, else as its first frame does.
/// Call it once per stream: where film is mixed with video, decoders report another order from frame to frame.
FieldOrder field_order_of(const AVCodecParameters& stream, const AVFrame& first) noexcept;

/// Whether colours are premultiplied by alpha; `unspecified` without alpha, or if unknown.
AlphaMode alpha_mode_of(const AVFrame& frame, AVCodecID codec) noexcept;

/// libav's name, "unknown" for none.
const char* name(AVPixelFormat format) noexcept;

/// Converts libav's signed fraction. Nothing if it is not positive.
std::optional<Rational> to_rational(AVRational fraction) noexcept;

/// Describes our memory to libav: fills format, size, data and linesize of `frame`. The frame owns nothing. `bytes` has
/// at least layout.size_bytes. Of a format with depth libav knows the colours; the plane of depths follows theirs.
void describe_memory(const FrameLayout& layout, const std::byte* bytes, AVFrame& frame) noexcept;

/// Copies the rows of `picture` to `to` in `layout`, which is packed and has the same format and size.
void copy_packed(const AVFrame& picture, const FrameLayout& layout, std::byte* to) noexcept;

}  // namespace framewire::libav
