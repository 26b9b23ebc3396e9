#include "viewer/statistics.hpp"

namespace framewire {

std::string_view name(LatencyStage stage) noexcept {
  constexpr std::array<std::string_view, latency_stage_count> names = {"produce", "offer",  "wire",
                                                                       "queue",   "upload", "present"};
  return names[static_cast<std::size_t>(stage)];
}

void Statistics::frame_received(std::uint64_t payload_bytes, std::int64_t received_ns) noexcept {
  const std::scoped_lock lock(mutex_);
  if (counts_.frames_received++ == 0) {
    first_received_ns_ = received_ns;
  }
  counts_.bytes_received += payload_bytes;
  line_meter_.frame_received(payload_bytes);
  panel_meter_.frame_received(payload_bytes);
}

void Statistics::frame_superseded() noexcept {
  const std::scoped_lock lock(mutex_);
  ++counts_.frames_superseded;
}

void Statistics::frame_unsynchronised() noexcept {
  const std::scoped_lock lock(mutex_);
  ++counts_.frames_unsynchronised;
}

void Statistics::frame_recorded(std::uint32_t copies) noexcept {
  const std::scoped_lock lock(mutex_);
  ++counts_.frames_recorded;
  counts_.frames_repeated += copies - 1;
}

void Statistics::frame_unrecorded() noexcept {
  const std::scoped_lock lock(mutex_);
  ++counts_.frames_unrecorded;
}

void Statistics::input_events(InputFate fate, std::uint64_t count) noexcept {
  const std::scoped_lock lock(mutex_);
  (fate == InputFate::sent ? counts_.input_events_sent : counts_.input_events_lost) += count;
}

void Statistics::input_handed_over(std::int64_t duration_ns) noexcept {
  const std::scoped_lock lock(mutex_);
  input_latency_.add(duration_ns);
}

void Statistics::await_first_frame(std::int64_t since_ns) noexcept {
  const std::scoped_lock lock(mutex_);
  awaited_since_ns_ = since_ns;
}

void Statistics::frame_checked(bool is_torn) noexcept {
  const std::scoped_lock lock(mutex_);
  ++counts_.frames_checked;
  counts_.frames_torn += is_torn ? 1 : 0;
}

/// A time of 0 is unknown.
StageTimes stage_times(const FrameTimes& sender, const ShownTimes& here, std::int64_t clock_offset_ns) noexcept {
  const auto between = [](std::int64_t from_ns, std::int64_t to_ns) {
    return from_ns != 0 && to_ns != 0 ? std::optional(to_ns - from_ns) : std::nullopt;
  };
  return {between(sender.begun_ns, sender.completed_ns),
          between(sender.completed_ns, sender.offered_ns),
          between(sender.offered_ns, sender.offered_ns != 0 ? here.received_ns + clock_offset_ns : 0),
          between(here.received_ns, here.selected_ns),
          between(here.selected_ns, here.uploaded_ns),
          between(here.uploaded_ns, here.shown_ns)};
}

void Statistics::frame_shown(const FrameTimes& sender, const ShownTimes& here, std::int64_t clock_offset_ns) noexcept {
  const std::scoped_lock lock(mutex_);
  if (counts_.frames_shown++ == 0) {
    first_shown_ns_ = here.shown_ns;
  }
  last_shown_ns_ = here.shown_ns;
  if (awaited_since_ns_ != 0) {
    connect_to_first_frame_ns_ = here.shown_ns - awaited_since_ns_;
    awaited_since_ns_ = 0;
  }
  line_meter_.frame_shown();
  panel_meter_.frame_shown();
  const StageTimes times = stage_times(sender, here, clock_offset_ns);
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times.at(i)) {
      stages_.at(i).add(*times.at(i));
    }
  }
  if (sender.completed_ns != 0) {
    const std::int64_t latency_ns = here.shown_ns + clock_offset_ns - sender.completed_ns;
    latency_.add(latency_ns);
    line_meter_.latency(latency_ns);
    panel_meter_.latency(latency_ns);
  }
}

ViewerCounts Statistics::counts() const noexcept {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

std::int64_t Statistics::connect_to_first_frame_ns() const noexcept {
  const std::scoped_lock lock(mutex_);
  return connect_to_first_frame_ns_;
}

double Statistics::seconds() const noexcept {
  const std::scoped_lock lock(mutex_);
  return seconds_locked();
}

double Statistics::seconds_locked() const noexcept {
  return counts_.frames_shown == 0 ? 0 : static_cast<double>(last_shown_ns_ - first_received_ns_) / 1e9;
}

double Statistics::frames_per_s() const noexcept {
  const std::scoped_lock lock(mutex_);
  const double shown_s = static_cast<double>(last_shown_ns_ - first_shown_ns_) / 1e9;
  return counts_.frames_shown < 2 || shown_s <= 0 ? 0 : static_cast<double>(counts_.frames_shown - 1) / shown_s;
}

double Statistics::gigabytes_per_s() const noexcept {
  const std::scoped_lock lock(mutex_);
  const double lasted_s = seconds_locked();
  return counts_.frames_shown < 2 || lasted_s <= 0 ? 0 : static_cast<double>(counts_.bytes_received) / lasted_s / 1e9;
}

RecentRates Statistics::take_line_rates(std::int64_t now_ns) noexcept {
  const std::scoped_lock lock(mutex_);
  return line_meter_.take_rates(now_ns);
}

RecentRates Statistics::take_panel_rates(std::int64_t now_ns) noexcept {
  const std::scoped_lock lock(mutex_);
  return panel_meter_.take_rates(now_ns);
}

}  // namespace framewire
