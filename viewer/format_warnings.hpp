// Warnings about formats that are not shown correctly.
#pragma once

#include <string>
#include <vector>

#include "frame/frame_layout.hpp"
#include "viewer/quality.hpp"

namespace framewire {

/// One message for each property of `format` that is not shown correctly: its transfer function (linear light), its
/// matrix (ictcp …), its primaries (BT.2020, P3), named as in FFmpeg, and interlacing. The good quality shows more of
/// them than the fast one; `usual` is the quality of frames that are not HDR. Empty if all is correct. The caller
/// prints each message only once.
std::vector<std::string> format_warnings(const StreamFormat& format, Quality usual);

}  // namespace framewire
