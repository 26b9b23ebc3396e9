// Warnings about formats that are not shown correctly.
#pragma once

#include <string>
#include <vector>

#include "frame/frame_layout.hpp"

namespace framewire {

/// One message for each property of `format` that the shader does not show correctly: its transfer function (PQ, HLG,
/// linear light), its matrix (ictcp …), its primaries (BT.2020, P3), named as in FFmpeg, and interlacing. Empty if all
/// is correct. The caller prints each message only once.
std::vector<std::string> format_warnings(const StreamFormat& format);

}  // namespace framewire
