// What the viewer counts and measures.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/histogram.hpp"
#include "frame/frame_header.hpp"
#include "viewer/recent_meter.hpp"

namespace framewire {

/// The stretches of a frame's way, in order. From offer on they add up to its latency.
enum class Stage : std::size_t {
  produce,  // begun -> completed: rendered or decoded into its slot
  offer,    // completed -> offered: waited in the fan-out for the link
  wire,     // offered -> received: the link, and the viewer's waking up
  queue,    // received -> taken up by the drawing
  upload,   // -> handed to the GPU
  present,  // -> drawn and presented
};
inline constexpr std::size_t stage_count = 6;
std::string_view name(Stage stage) noexcept;

/// When the stages on this side were done; CLOCK_MONOTONIC of this machine, ns.
struct ShownTimes {
  std::int64_t received_ns = 0;
  std::int64_t taken_ns = 0;
  std::int64_t uploaded_ns = 0;
  std::int64_t shown_ns = 0;
};

struct ViewerCounts {
  std::uint64_t frames_received = 0;
  std::uint64_t frames_shown = 0;
  std::uint64_t frames_superseded = 0;
  std::uint64_t frames_checked = 0;  // for being torn
  std::uint64_t frames_torn = 0;
  std::uint64_t frames_recorded = 0;
  std::uint64_t frames_repeated = 0;  // in the recording, for frames that were skipped
  std::uint64_t bytes_received = 0;   // payload
};

/// frames_received = frames_shown + frames_superseded holds whenever no frame is in the viewer's hands. Belongs to the
/// thread that draws; about 270 kB, never allocates.
class Statistics {
 public:
  void frame_received(std::uint64_t payload_bytes, std::int64_t received_ns) noexcept;
  void frame_superseded() noexcept { ++counts_.frames_superseded; }
  /// `times` over: once for itself, and once for each that was skipped before it.
  void frame_recorded(std::uint32_t times) noexcept {
    ++counts_.frames_recorded;
    counts_.frames_repeated += times - 1;
  }
  void frame_checked(bool is_torn) noexcept;
  /// The next frame that is shown is the first one since this time (monotonic).
  void await_first_frame(std::int64_t since_ns) noexcept { awaited_since_ns_ = since_ns; }
  /// `clock_offset_ns` is the sender's clock minus ours (Subscriber::clock_offset).
  void frame_shown(const FrameTimes& sender, const ShownTimes& here, std::int64_t clock_offset_ns) noexcept;

  [[nodiscard]] const ViewerCounts& counts() const noexcept { return counts_; }
  /// From completed to shown.
  [[nodiscard]] const Histogram& latency() const noexcept { return latency_; }
  [[nodiscard]] const Histogram& stage(Stage stage) const noexcept { return stages_[static_cast<std::size_t>(stage)]; }

  /// From connect() to the first frame shown, of the newest session that showed one; 0 before the first.
  [[nodiscard]] std::int64_t connect_to_first_frame_ns() const noexcept { return connect_to_first_frame_ns_; }
  /// From the first frame received to the last one shown.
  [[nodiscard]] double seconds() const noexcept;
  /// Shown, from the first to the last: n frames are n - 1 intervals.
  [[nodiscard]] double frames_per_s() const noexcept;
  /// Payload received over that time (10^9 bytes).
  [[nodiscard]] double gigabytes_per_s() const noexcept;

  /// Since the last take_rates(), for those who show it while it runs: each has a meter of its own.
  [[nodiscard]] RecentMeter& line_meter() noexcept { return line_meter_; }
  [[nodiscard]] RecentMeter& panel_meter() noexcept { return panel_meter_; }

 private:
  void add(Stage stage, std::int64_t from_ns, std::int64_t to_ns) noexcept;

  ViewerCounts counts_;
  Histogram latency_;
  std::array<Histogram, stage_count> stages_;
  std::int64_t first_received_ns_ = 0;
  std::int64_t first_shown_ns_ = 0;
  std::int64_t last_shown_ns_ = 0;
  std::int64_t awaited_since_ns_ = 0;  // 0: a frame of the session has been shown
  std::int64_t connect_to_first_frame_ns_ = 0;
  RecentMeter line_meter_;
  RecentMeter panel_meter_;
};

}  // namespace framewire
