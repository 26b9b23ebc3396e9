// A link's row: bits of the frame header's user tag, sending, the warm-up, and measuring on the receiving side.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/adaptive_spin.hpp"
#include "base/clock.hpp"
#include "base/histogram.hpp"
#include "bench/row.hpp"
#include "transport/session/frame_copies.hpp"
#include "transport/session/subscriber.hpp"
#include "transport/stream.hpp"

namespace framewire {

// ---- Bits of the user tag ----

inline constexpr std::uint64_t bench_tag_spin = 1;      // the receiver polls without sleeping
inline constexpr std::uint64_t bench_tag_touch = 2;     // the receiver reads every byte
inline constexpr std::uint64_t bench_tag_block = 4;     // the receiver sleeps as soon as nothing is there
inline constexpr std::uint64_t bench_tag_result = 8;    // not a message: the sender's result (JSON), in a reverse row
inline constexpr std::uint64_t bench_tag_warm_up = 16;  // sent before the messages of the row; not counted

constexpr std::uint64_t tag_of(WaitMode mode) noexcept {
  return mode == WaitMode::spin ? bench_tag_spin : mode == WaitMode::block ? bench_tag_block : 0;
}
constexpr WaitMode wait_mode_of(std::uint64_t tag) noexcept {
  return (tag & bench_tag_spin) != 0    ? WaitMode::spin
         : (tag & bench_tag_block) != 0 ? WaitMode::block
                                        : WaitMode::adaptive;
}

// ---- Sending a link's row (by the client, or in a reverse row by the server) ----

/// The options of a stream for the row's only viewer. `memory` outlives the stream.
StreamOptions stream_options_of(const RowPlan& plan, const MemoryKind& memory);

/// What a receiver takes (SubscriberOptions::memory).
std::vector<const MemoryKind*> kinds_besides_host(const MemoryKind& memory);

/// Publishes messages until the plan is complete or the stream stops. Returns their number and the time they took. The
/// epoch has begun and warm_up() is over. The caller finishes the stream. The source's thread.
SideResult send_messages(Stream& stream, const RowPlan& plan);

// ---- The warm-up of a link's row ----

/// Sends messages that are not counted. Returns when the receiver has its ring and only a few bytes are in flight, so
/// that no message of the row includes the set-up. False when the receiver has left. The source's thread, once.
bool warm_up(Stream& stream, const RowPlan& plan);

// ---- Measuring a link's row on the receiving side ----

/// The time from when the sender starts on the first message until the last one arrives, so that n messages are divided
/// by the time of n messages. Used by the receiving thread.
class RowSpan {
 public:
  /// Counts a message. `begun_ns`: when its sender began it, by the sender's clock. `arrived_ns`: when it arrived, by
  /// ours. `ahead_ns`: how much the sender's clock is ahead of ours.
  void take(std::int64_t begun_ns, std::int64_t arrived_ns, std::int64_t ahead_ns) noexcept {
    if (count_++ == 0) {
      begun_ns_ = begun_ns;
    }
    arrived_ns_ = arrived_ns + ahead_ns;
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  /// 0 (not known) when nothing arrived, the sender does not say when it began, or the clocks' uncertainty is not
  /// smaller than the time.
  [[nodiscard]] double seconds(std::int64_t uncertainty_ns) const noexcept {
    const std::int64_t took_ns = arrived_ns_ - begun_ns_;
    return begun_ns_ == 0 || took_ns <= uncertainty_ns ? 0 : static_cast<double>(took_ns) / 1e9;
  }

 private:
  std::uint64_t count_ = 0;
  std::int64_t begun_ns_ = 0;
  std::int64_t arrived_ns_ = 0;
};

/// Counts and measures the frames of a session. Used by the receiving thread.
class RowMeter {
 public:
  explicit RowMeter(Subscriber& subscriber) : subscriber_(subscriber) {}

  /// Receives messages until the session is over, and returns how it ended. Calls `go_on` before each poll; returns
  /// nothing when that returns false, and passes its exceptions through. Throws Error (failed) for an invalid result of
  /// the sender.
  template <typename GoOn>
  std::optional<SubscriberStatus> take_all(const GoOn& go_on);

  [[nodiscard]] double gigabytes() const noexcept { return static_cast<double>(bytes_) / 1e9; }
  [[nodiscard]] SideResult result() const;
  /// The sender's own result, in a reverse row: it comes in a frame of its own, which is not counted.
  [[nodiscard]] const std::optional<SideResult>& sender_result() const noexcept { return sender_result_; }

 private:
  void take(ReceivedFrame& frame);
  std::span<const std::byte> bytes_of(ReceivedFrame& frame);
  std::optional<SubscriberStatus> wait_for_more(std::uint64_t& seen_version);

  Subscriber& subscriber_;
  Histogram latency_;
  RowSpan span_;
  Subscriber::ClockOffset clock_;
  std::int64_t cpu_at_begin_ns_ = process_cpu_ns();
  std::uint64_t bytes_ = 0;
  std::uint64_t sum_ = 0;
  WaitMode wait_ = WaitMode::adaptive;
  std::optional<SideResult> sender_result_;
  FrameCopies copies_;  // of what is read
};

template <typename GoOn>
std::optional<SubscriberStatus> RowMeter::take_all(const GoOn& go_on) {
  for (std::uint64_t seen_version = ~std::uint64_t{0}; go_on();) {
    if (auto frame = subscriber_.next()) {
      take(*frame);
    } else if (auto end = wait_for_more(seen_version)) {
      return end;
    }
  }
  return std::nullopt;
}

}  // namespace framewire
