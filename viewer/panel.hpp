// The statistics panel in the window (key H).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/text.hpp"
#include "transport/session/subscriber.hpp"
#include "viewer/overlay.hpp"
#include "viewer/statistics.hpp"

namespace framewire {

/// Panel content besides the rates; changes rarely.
struct PanelFacts {
  std::string stream;       // which of several: "box:5290/orbit", or empty
  std::string recording;    // "345   dropped 2": its frames; empty: the user records nothing
  std::string format;       // "3840x2160 rgba 60 fps"
  std::string colour;       // "matrix bt709, range tv, chroma left"
  std::string pacing;       // "chosen 5.1 ms after the quickest arrival (jitter p99.9 4.1 ms)", or empty
  std::string clocks;       // "the clocks agree within 0.05 ms"; empty: there is one clock
  std::string start_line;   // "transport=local memory=host …"
  std::string upload_path;  // "pinned memory, llvmpipe"
};

/// Updates the rates twice a second, and keeps the latest frames' stages for the graph: for each frame a column of what
/// its latency consists of. Used on the drawing thread.
class Panel {
 public:
  void toggle() noexcept { is_shown_ = !is_shown_; }
  [[nodiscard]] bool is_shown() const noexcept { return is_shown_; }

  /// It is about another stream from now on.
  void begin_again() noexcept {
    frames_.fill({});
    next_ = filled_ = 0;
    updated_ns_ = 0;
  }

  void frame_shown(const StageTimes& stages) noexcept;

  /// Call it between Overlay::begin() and finish().
  void draw(const Overlay& overlay, Size surface, Statistics& statistics, const SubscriberCounts& session_counts,
            const PanelFacts& facts, std::int64_t now_ns);

 private:
  static constexpr std::size_t stages_in_graph = latency_stage_count - 1;  // those that a latency consists of
  using FrameColumn = std::array<float, stages_in_graph>;                  // ms

  void find_medians() noexcept;
  void draw_graph(float scale) const;
  void draw_legend() const;

  static constexpr std::int64_t update_period_ns = 500'000'000;

  bool is_shown_ = false;
  RecentRates rates_;
  std::int64_t updated_ns_ = 0;
  static constexpr std::size_t graph_frames = 180;  // 3 s at 60 fps
  std::array<FrameColumn, graph_frames> frames_{};  // circular
  std::size_t next_ = 0;
  std::size_t filled_ = 0;
  FrameColumn medians_ms_{};  // of the frames in the graph
};

}  // namespace framewire
