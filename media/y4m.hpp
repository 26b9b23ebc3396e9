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
inline constexpr std::size_t max_y4m_line_bytes = 1024;  // longer ones are no y4m

/// Reads a stream's first line (without its newline). Throws Error that names the tag that is wrong; nothing has been
/// allocated by then. The rate is 0 where the header does not know it (F0:0), the aspect 1:1 (A0:0). The chroma
/// location is that of the C tag: 420jpeg, 420, and no tag at all, are `center`, 420mpeg2 is `left`, 420paldv
/// `topleft`; the other formats have one name each, which says nothing of it. The I tag is the field order: p is
/// progressive, t is tt, b is bb.
StreamFormat parse_y4m_header(std::string_view line);

/// Whether `line` (without its newline) may stand before a frame: FRAME, alone or with parameters, which say nothing of
/// the size.
bool is_y4m_frame_line(std::string_view line) noexcept;

/// The stream's first line for frames of `format`, with its newline. Only for formats that y4m_format() keeps. An
/// unspecified chroma location is written as 420mpeg2, which is how it is shown. Of a field order y4m says which field
/// is displayed first; `mixed` needs a word before every frame, which is not written: it becomes ?, unknown.
std::string y4m_header(const StreamFormat& format);

/// Whether the header says where the chroma of `format` lies: y4m has no names for some places, and only one for 4:2:2
/// and for 10 bits, which then counts as `left`.
bool y4m_says_chroma_location(const StreamFormat& format) noexcept;

/// How frames of `format` go into y4m: as they are (planar YUV, grey), rearranged without loss (nv12, p010le, uyvy422,
/// yuyv422: into planes of the same bits and as much chroma), or converted: y4m has no RGB, which becomes yuv444p.
PixelFormat y4m_format(PixelFormat format) noexcept;

}  // namespace framewire
