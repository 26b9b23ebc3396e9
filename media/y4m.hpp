// The headers of YUV4MPEG2 ("y4m"): the stream's first line, and the line before every frame.
// Source: yuv4mpeg(5) of mjpegtools, and the C and X tags that FFmpeg writes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "frame/frame_layout.hpp"

namespace framewire {

inline constexpr std::string_view y4m_magic = "YUV4MPEG2";
inline constexpr std::string_view y4m_frame_magic = "FRAME";
inline constexpr std::size_t max_y4m_line_bytes = 1024;  // longer lines are invalid

/// Reads a stream's first line (without its newline). Throws Error that names the invalid tag, before allocating
/// anything. An unknown rate (F0:0) is 0; an unknown aspect (A0:0) is 1:1. The C tag gives the chroma location:
/// 420jpeg, 420 and a missing tag are `center`, 420mpeg2 is `left`, 420paldv is `topleft`; names of other formats do
/// not state it. The I tag is the field order: p is progressive, t is tt, b is bb.
StreamFormat parse_y4m_header(std::string_view line);

/// Whether `line` (without its newline) is a frame header: FRAME, with or without parameters. Parameters do not change
/// the size.
bool is_y4m_frame_line(std::string_view line) noexcept;

/// The stream's first line for frames of `format`, with its newline. Only for formats that y4m_format() keeps. An
/// unspecified chroma location is written as 420mpeg2, because the viewer shows it so. The I tag states which field is
/// displayed first. `mixed` would need a parameter in every frame header, which is not written, so it becomes ?
/// (unknown).
std::string y4m_header(const StreamFormat& format);

/// Whether the header can state the chroma location of `format`. y4m has no names for some locations, and only one name
/// for 4:2:2 and for 10 bits, which then counts as `left`.
bool y4m_says_chroma_location(const StreamFormat& format) noexcept;

/// The y4m format for frames of `format`: the same (planar YUV, grey), rearranged without loss into planes with the
/// same bits and chroma (nv12, p010le, uyvy422, yuyv422), or converted: y4m has no RGB, so it becomes yuv444p.
PixelFormat y4m_format(PixelFormat format) noexcept;

}  // namespace framewire
