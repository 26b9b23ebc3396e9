// The viewer's counts and measurements.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

#include "base/histogram.hpp"
#include "frame/frame_header.hpp"
#include "viewer/recent_meter.hpp"
#include "viewer/seen_refresh.hpp"

namespace framewire {

/// The stages of a frame's path, in order. From `offer` on they add up to its latency.
enum class LatencyStage : std::size_t {
  produce,  // begun -> completed: rendering or decoding into its slot
  offer,    // completed -> offered: waiting in the fan-out for the link
  wire,     // offered -> received: the link, and the viewer's wake-up
  queue,    // received -> selected for drawing
  upload,   // -> handed to the GPU
  present,  // -> drawn and presented
};
inline constexpr std::size_t latency_stage_count = 6;
std::string_view name(LatencyStage stage) noexcept;

/// When the viewer's stages ended; this machine's CLOCK_MONOTONIC, ns.
struct ShownTimes {
  std::int64_t received_ns = 0;
  std::int64_t selected_ns = 0;
  std::int64_t uploaded_ns = 0;
  std::int64_t drawn_ns = 0;  // ready to be presented
  std::int64_t shown_ns = 0;
  std::optional<SeenRefresh> refresh{};  // with which it was seen; nothing: not known
  std::uint64_t picture = 0;             // in which it was shown (Surface::Presented)
};

/// How long each stage of a frame took, ns, in the order of LatencyStage; nothing: not known.
using StageTimes = std::array<std::optional<std::int64_t>, latency_stage_count>;
/// `clock_offset_ns` is the sender's clock minus ours (Subscriber::clock_offset).
StageTimes stage_times(const FrameTimes& sender, const ShownTimes& here, std::int64_t clock_offset_ns) noexcept;

struct ViewerCounts {
  std::uint64_t frames_received = 0;
  std::uint64_t frames_shown = 0;
  std::uint64_t frames_superseded = 0;
  std::uint64_t frames_unsynchronised = 0;  // with --sync: chosen for a picture of another instant
  std::uint64_t frames_checked = 0;         // for tearing
  std::uint64_t frames_torn = 0;
  std::uint64_t frames_recorded = 0;
  std::uint64_t frames_repeated = 0;    // in the recording, in place of skipped frames
  std::uint64_t frames_unrecorded = 0;  // received, but not in the recording: writing was too slow, or was ended
  std::uint64_t bytes_received = 0;     // payload
  std::uint64_t input_events_sent = 0;  // handed to the connection
  std::uint64_t input_events_lost = 0;
};

/// What became of the user's input.
enum class InputFate { sent, lost };

/// frames_received = frames_shown + frames_superseded holds whenever the viewer holds no frame. Any thread; about
/// 270 kB, never allocates.
class Statistics {
 public:
  void frame_received(std::uint64_t payload_bytes, std::int64_t received_ns) noexcept;
  void frame_superseded() noexcept;
  void frame_unsynchronised() noexcept;
  /// `copies`: one for the frame, and one for each skipped frame before it.
  void frame_recorded(std::uint32_t copies) noexcept;
  /// A received frame that the recording lacks.
  void frame_unrecorded() noexcept;
  void frame_checked(bool is_torn) noexcept;
  void input_events(InputFate fate, std::uint64_t count) noexcept;
  /// An event was handed to the connection so long after the window system's callback.
  void input_handed_over(std::int64_t duration_ns) noexcept;
  /// The next shown frame is the first one since this time (monotonic).
  void await_first_frame(std::int64_t since_ns) noexcept;
  /// `clock_offset_ns` is the sender's clock minus ours (Subscriber::clock_offset).
  void frame_shown(const FrameTimes& sender, const ShownTimes& here, std::int64_t clock_offset_ns) noexcept;

  [[nodiscard]] ViewerCounts counts() const noexcept;
  /// From completed to shown. To be read when no thread adds frames any more.
  [[nodiscard]] const Histogram& latency() const noexcept { return latency_; }
  /// The same of one stage.
  [[nodiscard]] const Histogram& stage(LatencyStage stage) const noexcept {
    return stages_[static_cast<std::size_t>(stage)];
  }

  /// From the window system's callback to the connection. To be read when no more input comes.
  [[nodiscard]] const Histogram& input_latency() const noexcept { return input_latency_; }

  /// From connect() to the first shown frame, for the newest session that showed one; 0 before the first.
  [[nodiscard]] std::int64_t connect_to_first_frame_ns() const noexcept;
  /// From the first received frame to the last shown one.
  [[nodiscard]] double seconds() const noexcept;
  /// Frames shown per second, from the first to the last: n frames are n - 1 intervals.
  [[nodiscard]] double frames_per_s() const noexcept;
  /// Payload received per second, over seconds() (10^9 bytes).
  [[nodiscard]] double gigabytes_per_s() const noexcept;

  /// Rates since the last call, for the live line and, apart from it, for the panel.
  [[nodiscard]] RecentRates take_line_rates(std::int64_t now_ns) noexcept;
  [[nodiscard]] RecentRates take_panel_rates(std::int64_t now_ns) noexcept;

 private:
  [[nodiscard]] double seconds_locked() const noexcept;

  mutable std::mutex mutex_;  // guards what follows
  ViewerCounts counts_;
  Histogram latency_;
  std::array<Histogram, latency_stage_count> stages_;
  Histogram input_latency_;
  std::int64_t first_received_ns_ = 0;
  std::int64_t first_shown_ns_ = 0;
  std::int64_t last_shown_ns_ = 0;
  std::int64_t awaited_since_ns_ = 0;  // 0: the session has shown a frame
  std::int64_t connect_to_first_frame_ns_ = 0;
  RecentMeter line_meter_;
  RecentMeter panel_meter_;
};

}  // namespace framewire
