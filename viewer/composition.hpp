// Everything that stands in the picture.
#pragma once

#include <cstdint>
#include <string>

#include "transport/session/subscriber.hpp"
#include "viewer/layer.hpp"
#include "viewer/notice.hpp"
#include "viewer/overlay.hpp"
#include "viewer/panel.hpp"
#include "viewer/statistics.hpp"

namespace framewire {

/// What the picture depends on besides the frames.
struct CompositionFacts {
  std::string peer_text;  // "box:5290"
  SubscriberStatus status;
  std::string lost_message;  // why the last session ended
};

/// Draws the layer, and over it the panel, the waiting picture, or the banner of a sender that was lost. The drawing
/// thread; the layer and the statistics outlive it.
class Composition {
 public:
  Composition(const Layer& layer, Statistics& statistics);

  /// Onto the framebuffer that is bound, which is `surface` large.
  void draw(Size surface, const CompositionFacts& facts, const SubscriberCounts& counts, std::int64_t now_ns);

  /// How long until something in the picture moves by itself; RedrawSchedule::never_ns if nothing does.
  [[nodiscard]] std::int64_t step_ns(const CompositionFacts& facts) const noexcept;

  void toggle_panel() noexcept { panel_.toggle(); }
  void frame_shown(std::int64_t latency_ns) noexcept { panel_.frame_shown(latency_ns); }

 private:
  [[nodiscard]] PanelFacts panel_facts(const CompositionFacts& facts) const;

  const Layer& layer_;
  Statistics& statistics_;
  Overlay overlay_;
  Panel panel_;
};

/// GL_RENDERER without what drivers add in brackets: "llvmpipe".
std::string short_renderer();

}  // namespace framewire
