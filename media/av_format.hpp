// Between libav's pixel formats and colours and ours. Internal to media/.
#pragma once

#include <functional>
#include <optional>

#include "frame/colour.hpp"
#include "frame/frame_layout.hpp"
#include "frame/pixel_format.hpp"
#include "media/libav.hpp"

namespace framewire::libav {

AVPixelFormat to_av(PixelFormat format) noexcept;

/// Ours for a libav format that is the same in memory (yuvj420p is yuv420p of full range), or nothing.
std::optional<PixelFormat> carried(AVPixelFormat format) noexcept;

/// The format of ours that loses least of `format`, among those that `is_wanted` (null: all).
PixelFormat nearest_carried(AVPixelFormat format, const std::function<bool(PixelFormat)>& is_wanted = {}) noexcept;

/// The deprecated full-range twins (yuvj420p …) by their plain names; other formats as they are.
AVPixelFormat without_range(AVPixelFormat format) noexcept;

/// What the numbers of a decoded frame mean, if it is taken as it is.
Colour colour_of(const AVFrame& frame) noexcept;

/// What they mean after conversion into `target`. From RGB to YUV it is limited range, BT.709 from 720 lines on, else
/// BT.601: what every reader takes where nothing is said.
Colour converted_colour(const Colour& source, AVPixelFormat source_format, PixelFormat target,
                        std::uint32_t height) noexcept;

/// Where the chroma samples of a decoded frame lie; `unspecified` where there are none, or a format without less chroma
/// than luma. The frame's own word comes before that of the container.
ChromaLocation chroma_location_of(const AVFrame& frame, const AVCodecParameters& stream) noexcept;

/// Where they lie after conversion into `target`: where they lay, or where libswscale puts new ones.
ChromaLocation converted_chroma_location(ChromaLocation source, AVPixelFormat source_format,
                                         PixelFormat target) noexcept;

/// The order of a stream's fields: what the container or the decoder says of the whole stream, else what its first
/// frame says. It is asked once per stream: decoders change their mind from frame to frame where film is mixed with
/// video.
FieldOrder field_order_of(const AVCodecParameters& stream, const AVFrame& first) noexcept;

/// Whether colours have been multiplied by their alpha; `unspecified` where there is none, or nobody knows.
AlphaMode alpha_mode_of(const AVFrame& frame, AVCodecID codec) noexcept;

/// libav's name, "unknown" for none.
const char* name(AVPixelFormat format) noexcept;

/// From libav's signed fraction: nothing below or equal 0, and made to fit.
std::optional<Rational> to_rational(AVRational fraction) noexcept;

/// Describes memory of ours to libav: fills format, size, data and linesize of `frame`; the frame owns nothing. `bytes`
/// holds layout.size_bytes at least.
void describe_memory(const FrameLayout& layout, const std::byte* bytes, AVFrame& frame) noexcept;

/// Copies the rows of `picture` to `to` as `layout` (packed, of the same format and size) has them.
void copy_packed(const AVFrame& picture, const FrameLayout& layout, std::byte* to) noexcept;

}  // namespace framewire::libav
