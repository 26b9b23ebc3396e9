// The part of Drawing about scenes that the viewer draws itself (ShaderLayer).
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "viewer/drawing.hpp"

namespace framewire {

/// What nobody sees is not drawn.
void Drawing::follow_visibility() {
  const bool is_surface_seen = !draws_nothing();
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i]->is_drawn_here()) {
      const bool is_seen = is_surface_seen && !depth_ && composition_.will_show(i, surface_.size());
      streams_[i]->set_seen(is_seen, is_surface_seen);
    }
  }
}

/// When the next one is to be drawn soon.
std::int64_t Drawing::shaders_due_ns(std::int64_t now_ns) {
  std::int64_t due_ns = INT64_MAX;
  for (const auto& stream : streams_) {
    due_ns = std::min(due_ns, stream->wake_ns(now_ns));
  }
  return due_ns;
}

}  // namespace framewire
