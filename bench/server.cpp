#include "bench/server.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <numeric>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bench/convention.hpp"
#include "bench/verbs_messages.hpp"
#include "bench/verbs_server.hpp"
#include "transport/subscriber.hpp"

namespace framewire {

namespace {

/// Reads every byte, so that a payload that was only handed over is really fetched.
std::uint64_t sum_of(std::span<const std::byte> payload) {
  return std::accumulate(payload.begin(), payload.end(), std::uint64_t{0},
                         [](std::uint64_t sum, std::byte byte) { return sum + std::to_integer<std::uint64_t>(byte); });
}

class RowMeter {
 public:
  explicit RowMeter(Subscriber& subscriber) : subscriber_(subscriber) {}

  void take(const ReceivedFrame& frame) {
    const FrameHeader& header = frame.header();
    if (first_ns_ == 0) {
      first_ns_ = frame.received_ns();
      cpu_at_first_ns_ = process_cpu_ns();
      offset_ns_ = subscriber_.clock_offset().offset_ns;
      wait_ = wait_mode_of(header.user_tag);
    }
    latency_.add(frame.received_ns() + offset_ns_ - header.times.completed_ns);
    if ((header.user_tag & bench_tag_touch) != 0) {
      sum_ += sum_of(frame.payload());
    }
    last_ns_ = frame.received_ns();
    ++count_;
    bytes_ += frame.payload().size();
  }

  [[nodiscard]] double gigabytes() const noexcept { return static_cast<double>(bytes_) / 1e9; }
  [[nodiscard]] WaitMode wait() const noexcept { return wait_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  [[nodiscard]] EndResult result() const {
    return {.count = count_,
            .seconds = static_cast<double>(last_ns_ - first_ns_) / 1e9,
            .cpu_seconds = static_cast<double>(process_cpu_ns() - cpu_at_first_ns_) / 1e9,
            .latency_us = latency_of(latency_),
            .transport = subscriber_.status().transport};
  }

 private:
  Subscriber& subscriber_;
  Histogram latency_;
  std::int64_t first_ns_ = 0;
  std::int64_t last_ns_ = 0;
  std::int64_t cpu_at_first_ns_ = 0;
  std::int64_t offset_ns_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t sum_ = 0;
  WaitMode wait_ = WaitMode::adaptive;
};

/// What the server of a row has to say; the client has its table.
void print_row(const EndResult& result, double gigabytes) {
  const double seconds = std::max(result.seconds, 1e-9);
  std::printf("%s\n",
              fmt::format("{:<6} {:>9} messages in {:.3f} s, {:.0f} messages/s, {:.3f} GB/s, latency p50 {:.1f} us "
                          "p99 {:.1f} us, {:.3f} CPU s/GB",
                          result.transport, result.count, result.seconds, static_cast<double>(result.count) / seconds,
                          gigabytes / seconds, result.latency_us.p50, result.latency_us.p99,
                          result.cpu_seconds / std::max(gigabytes, 1e-9))
                  .c_str());
  std::fflush(stdout);
}

bool is_over(SubscriberState state) noexcept {
  return state == SubscriberState::finished || state == SubscriberState::failed || state == SubscriberState::lost;
}

void serve_row(Subscriber& subscriber, const std::atomic<bool>& stop, bool prints) {
  RowMeter meter(subscriber);
  for (std::uint64_t seen_version = ~std::uint64_t{0}; !stop;) {
    if (auto frame = subscriber.next()) {
      meter.take(*frame);
      continue;
    }
    // A copy of the status costs more than taking a small message.
    const std::uint64_t version = subscriber.status_version();
    if (version != seen_version && is_over(subscriber.status().state)) {
      break;
    }
    seen_version = version;
    subscriber.wait(monotonic_ns() + ns_per_s / 4, meter.wait());
  }
  const EndResult result = meter.result();
  subscriber.close(end_result_to_json(result));
  if (prints && result.count > 0) {
    print_row(result, meter.gigabytes());
  }
}

}  // namespace

void serve_rows(const EndpointOptions& endpoint, int port_pipe, const std::atomic<bool>& stop, bool prints, Log& log) {
  EndpointOptions here = endpoint;
  for (bool is_first = true; !stop; is_first = false) {
    Subscriber subscriber({.endpoint = here,
                           .stream = {},
                           .delivery = {},
                           .reconnect = false,
                           .program = "framewire-bench " FRAMEWIRE_VERSION,
                           .guest_role = bench_role,
                           .serve_guest = [&](Authenticated& client,
                                              Door& door) { serve_verbs_row(client, door, endpoint, prints, log); }},
                          log);
    if (is_first && prints) {
      log.info(subscriber.status().sentence);
    }
    here.listen->port = subscriber.port();  // the same one for every row
    if (port_pipe >= 0) {
      const std::string text = std::to_string(subscriber.port()) + "\n";
      if (::write(port_pipe, text.data(), text.size()) < 0) {
        throw Error::from_errno("tell the port of the server", errno);
      }
      port_pipe = -1;
    }
    serve_row(subscriber, stop, prints);
  }
}

}  // namespace framewire
