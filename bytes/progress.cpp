#include "bytes/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/bandwidth.hpp"
#include "base/clock.hpp"
#include "base/text.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

constexpr auto interval = std::chrono::seconds(1);

std::string time_text(double seconds) {
  const auto whole = std::lround(std::min(seconds, 1e9));
  return whole < 120 ? fmt::format("{} s", whole) : fmt::format("{}:{:02} min", whole / 60, whole % 60);
}

std::string bandwidth(std::uint64_t bytes, double seconds, const std::string& transport) {
  if (seconds <= 0) {
    return fmt::format("Bandwidth not measured: {} came at once over {}", format_bytes(bytes), transport);
  }
  return fmt::format("Bandwidth {}: {} in {:.3g} s over {}", format_bandwidth(static_cast<double>(bytes), seconds),
                     format_bytes(bytes), seconds, transport);
}

}  // namespace

std::string progress_text(std::uint64_t bytes, double interval_bytes, double interval_s,
                          std::optional<std::uint64_t> size_bytes) {
  std::string text = format_bytes(bytes) + "  " + format_bandwidth(interval_bytes, interval_s);
  if (size_bytes && *size_bytes > 0) {
    const std::uint64_t left = *size_bytes - std::min(bytes, *size_bytes);
    text += fmt::format("  {} %", (*size_bytes - left) * 100 / *size_bytes);
    if (interval_bytes > 0) {
      text += "  " + time_text(static_cast<double>(left) * interval_s / interval_bytes) + " left";
    }
  }
  return text;
}

SayProgress live_line(TerminalLog& log, std::optional<std::uint64_t> size_bytes) {
  return [&log, size_bytes](std::uint64_t bytes, double interval_bytes, double interval_s) {
    log.live(progress_text(bytes, interval_bytes, interval_s, size_bytes));
  };
}

Progress::Progress(SayProgress say) : say_(std::move(say)) {
  if (say_) {
    thread_ = std::thread([this] { run(); });
  }
}

Progress::~Progress() {
  end();
}

void Progress::add(std::uint64_t bytes, std::int64_t begun_ns) noexcept {
  if (first_ns_.load(std::memory_order_relaxed) == 0) {
    first_ns_.store(begun_ns, std::memory_order_relaxed);
  }
  last_ns_.store(monotonic_ns(), std::memory_order_relaxed);
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

void Progress::complete() noexcept {
  if (first_ns_.load(std::memory_order_relaxed) != 0) {
    last_ns_.store(monotonic_ns(), std::memory_order_relaxed);
  }
}

void Progress::end() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

double Progress::seconds() const noexcept {
  return static_cast<double>(last_ns_.load() - first_ns_.load()) / 1e9;
}

void Progress::run() noexcept {
  set_thread_name("fw-progress");
  std::uint64_t bytes_before = 0;
  std::int64_t before_ns = monotonic_ns();
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, interval, [this] { return is_over_; })) {
    const std::uint64_t bytes_now = bytes();
    const std::int64_t now_ns = monotonic_ns();
    if (bytes_now > 0) {
      say_(bytes_now, static_cast<double>(bytes_now - bytes_before), static_cast<double>(now_ns - before_ns) / 1e9);
    }
    bytes_before = bytes_now;
    before_ns = now_ns;
  }
}

double gigabytes_per_second(std::uint64_t bytes, double seconds) noexcept {
  return seconds > 0 ? static_cast<double>(bytes) / 1e9 / seconds : 0;
}

const char* name(Bottleneck stage) noexcept {
  switch (stage) {
    case Bottleneck::source:
      return "source";
    case Bottleneck::limit:
      return "limit";
    case Bottleneck::wire:
      return "wire";
    case Bottleneck::sink:
      break;
  }
  return "sink";
}

Bottleneck bottleneck_of(const TransferWaits& waits) noexcept {
  if (waits.limit_s > std::max(waits.source_s, waits.wire_s)) {
    return Bottleneck::limit;
  }
  if (waits.source_s >= waits.wire_s) {
    return Bottleneck::source;
  }
  return waits.sink_s >= waits.wire_s / 2 ? Bottleneck::sink : Bottleneck::wire;
}

std::string bandwidth_text(std::uint64_t bytes, double seconds, const std::string& transport, Bottleneck bottleneck) {
  return fmt::format("{}; the {} was the bottleneck", bandwidth(bytes, seconds, transport), name(bottleneck));
}

std::string received_text(std::uint64_t bytes, double seconds, const std::string& transport, bool is_sink_slowest) {
  return fmt::format("{}; {} was the bottleneck", bandwidth(bytes, seconds, transport),
                     is_sink_slowest ? "the sink" : "the source or the wire");
}

}  // namespace framewire
