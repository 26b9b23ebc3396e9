// What the picture says of a recording that the user has begun.
#pragma once

#include <cstdint>
#include <string>

#include "base/text.hpp"
#include "viewer/overlay.hpp"

namespace framewire {

/// "0:07", "1:02:03".
std::string format_minutes(std::int64_t duration_ns);

/// Draws a red dot and `text` at the lower right of the surface, where neither panel nor notes are. Call it between
/// Overlay::begin() and finish().
void draw_recording_mark(const Overlay& overlay, Size surface, const std::string& text);

}  // namespace framewire
