// What a person should know of a picture that is not shown as it is meant.
#pragma once

#include <string>
#include <vector>

#include "frame/frame_layout.hpp"

namespace framewire {

/// One sentence for each property of `format` that the shader does not show right: its transfer function (PQ, HLG,
/// linear light), its matrix (ictcp …), its primaries (BT.2020, P3), named as FFmpeg does; and for interlaced frames.
/// Empty for what is shown as it should be. Whoever says them says each once.
std::vector<std::string> picture_notes(const StreamFormat& format);

}  // namespace framewire
