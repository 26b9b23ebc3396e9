#include "bench/row_meter.hpp"

#include <numeric>
#include <span>
#include <string>

#include "base/clock.hpp"
#include "bench/messages.hpp"

namespace framewire {

namespace {

/// Reads every byte, so that memory which was only handed over is really fetched.
std::uint64_t sum_of(std::span<const std::byte> payload) {
  return std::accumulate(payload.begin(), payload.end(), std::uint64_t{0},
                         [](std::uint64_t sum, std::byte byte) { return sum + std::to_integer<std::uint64_t>(byte); });
}

}  // namespace

void RowMeter::take(const ReceivedFrame& frame) {
  const FrameHeader& header = frame.header();
  if ((header.user_tag & bench_tag_result) != 0) {
    const auto text = frame.payload();
    sender_result_ = end_result_from_json(std::string(reinterpret_cast<const char*>(text.data()), text.size()));
    return;
  }
  if (span_.count() == 0) {
    clock_ = subscriber_.clock_offset();
    wait_ = wait_mode_of(header.user_tag);
  }
  if ((header.user_tag & bench_tag_warm_up) != 0) {
    cpu_at_begin_ns_ = process_cpu_ns();
    return;
  }
  span_.take(header.times.begun_ns, frame.received_ns(), clock_.offset_ns);
  latency_.add(frame.received_ns() + clock_.offset_ns - header.times.completed_ns);
  if ((header.user_tag & bench_tag_touch) != 0) {
    sum_ += sum_of(frame.payload());
  }
  bytes_ += frame.payload().size();
}

/// Returns how the session ended, if it has. Otherwise waits in the mode that the sender asked for.
std::optional<SubscriberStatus> RowMeter::wait_for_more(std::uint64_t& seen_version) {
  // Copying the status takes longer than receiving a small message.
  if (const std::uint64_t version = subscriber_.status_version(); version != seen_version) {
    seen_version = version;
    SubscriberStatus status = subscriber_.status();
    if (status.state != SubscriberState::waiting && status.state != SubscriberState::connected) {
      return status;
    }
  }
  // WaitMode::spin never sleeps, so it needs no deadline and no clock.
  subscriber_.wait(wait_ == WaitMode::spin ? 0 : monotonic_ns() + ns_per_s / 4, wait_);
  return std::nullopt;
}

EndResult RowMeter::result() const {
  return {.count = span_.count(),
          .seconds = span_.seconds(clock_.uncertainty_ns),
          .cpu_seconds = static_cast<double>(process_cpu_ns() - cpu_at_begin_ns_) / 1e9,
          .latency_us = latency_of(latency_),
          .latency_uncertainty_us = static_cast<double>(clock_.uncertainty_ns) / 1e3,
          .transport = subscriber_.status().transport};
}

}  // namespace framewire
