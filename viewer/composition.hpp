// Composes the displayed picture.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "transport/session/subscriber.hpp"
#include "viewer/layer.hpp"
#include "viewer/overlay.hpp"
#include "viewer/panel.hpp"
#include "viewer/playout_schedule.hpp"
#include "viewer/statistics.hpp"
#include "viewer/status_screen.hpp"
#include "viewer/stream_facts.hpp"

namespace framewire {

/// Draws the layer, and over it the panel, the waiting picture, or the banner about a lost sender. Used on the drawing
/// thread. The layer and the statistics outlive it.
class Composition {
 public:
  Composition(Layer& layer, Statistics& statistics);

  /// Draws into the bound framebuffer, whose size is `surface`.
  void draw(Size surface, const StreamFacts& facts, const SubscriberCounts& counts, const std::optional<Pacing>& pacing,
            std::int64_t now_ns);

  /// Time until the next animation step of the picture; RedrawSchedule::never_ns if nothing is animated.
  [[nodiscard]] std::int64_t step_ns(const StreamFacts& facts) const noexcept;

  void toggle_panel() noexcept { panel_.toggle(); }
  void frame_shown(std::int64_t latency_ns) noexcept { panel_.frame_shown(latency_ns); }

 private:
  [[nodiscard]] PanelFacts panel_facts(const StreamFacts& facts, const std::optional<Pacing>& pacing) const;

  Layer& layer_;
  Statistics& statistics_;
  Overlay overlay_;
  Panel panel_;
};

/// GL_RENDERER without the text that drivers add in brackets: "llvmpipe".
std::string short_renderer();

}  // namespace framewire
