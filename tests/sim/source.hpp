// A stream of a simulated sender.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "frame/test_pattern.hpp"
#include "tests/sim/plan.hpp"
#include "tests/sim/world.hpp"
#include "transport/stream.hpp"

namespace framewire::sim {

/// A stream and the threads that fill it, until it has all frames or its last viewer has left.
class Source {
 public:
  Source(World& world, const Plan& plan, std::uint32_t number)
      : world_(world), plan_(plan), stream_(options_of(plan, number)) {}

  /// Every viewer that is to watch has been added.
  void start() {
    running_ = plan_.source_threads;
    for (std::uint64_t i = 0; i < plan_.source_threads; ++i) {
      threads_.emplace_back([this, begins_epochs = i == 0] { run(begins_epochs); });
    }
  }
  void join() {
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }
  void add_viewer() { ++viewers_; }
  void lose_viewer() {
    if (--viewers_ == 0) {
      stream_.stop();
    }
  }
  [[nodiscard]] Stream& stream() { return stream_; }
  /// When it had no more frames; INT64_MAX before.
  [[nodiscard]] std::int64_t finished_ns() const { return finished_ns_; }

 private:
  static StreamOptions options_of(const Plan& plan, std::uint32_t number) {
    StreamOptions options;
    options.name = "test" + std::to_string(number);
    options.number = number;
    options.delivery = plan.delivery;
    options.slots_per_viewer = plan.slots;
    options.max_viewers = 8;
    options.allows_pull = plan.pull_interval_ns > 0;
    return options;
  }

  void run(bool begins_epochs) {
    produce(begins_epochs);
    if (--running_ > 0) {
      return;
    }
    if (viewers_ > 0) {  // otherwise the stream may have been stopped during a claim
      EXPECT_EQ(stream_.frames_dropped_at_source(), dropped_);
    }
    finished_ns_ = world_.now_ns();
    stream_.finish();
  }

  void produce(bool begins_epochs) {
    std::optional<ClaimedSlot> second;
    std::optional<KeptSlot> kept;
    std::byte first_byte_kept{};
    while (produced_ < plan_.frames && viewers_ > 0) {
      if (begins_epochs && !begin_epoch_when_due()) {
        continue;
      }
      auto slot = second ? std::exchange(second, std::nullopt) : claim();
      if (!slot) {
        break;
      }
      if (plan_.source_threads > 1 && world_.chance(30)) {
        second = stream_.claim_now();  // published after the first one, or given up at the end
      }
      if (kept) {
        EXPECT_EQ(kept->bytes()[0], first_byte_kept) << "a slot that is kept was used again";
        kept.reset();
      }
      const std::uint64_t number = ++numbers_;
      if (plan_.slices > 1 && world_.chance(80)) {
        produce_in_slices(std::move(*slot), number);
        continue;
      }
      write_test_lines(slot->bytes(), number);
      const std::byte first_byte = slot->bytes()[0];
      const FrameInfo info{.user_tag = number, .has_test_pattern = true};
      if (auto published = stream_.publish_and_keep(std::move(*slot), info)) {
        ++produced_;
        if (plan_.source_threads > 1 && world_.chance(30)) {
          kept = std::move(published);
          first_byte_kept = first_byte;
        }
      } else {
        ++dropped_;  // another thread has begun an epoch
      }
      rest();
    }
  }

  /// In any order, each filled just before it is published. What the frame before left in the slot is torn.
  void produce_in_slices(ClaimedSlot slot, std::uint64_t number) {
    auto frame = stream_.begin_frame(std::move(slot), {.user_tag = number, .has_test_pattern = true},
                                     static_cast<std::uint16_t>(plan_.slices));
    if (!frame) {
      ++dropped_;  // another thread has begun an epoch
      return;
    }
    std::vector<std::uint16_t> left(frame->slice_count());
    std::ranges::generate(left, [next = std::uint16_t{0}]() mutable { return next++; });
    while (!left.empty()) {
      const std::size_t chosen = world_.below(left.size());
      const ByteRange range = frame->slice(left[chosen]);
      write_test_lines(frame->bytes().subspan(range.offset_bytes, range.size_bytes), number,
                       range.offset_bytes / test_line_bytes);
      frame->publish(left[chosen]);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(chosen));
      if (world_.chance(30)) {
        stream_.sleep_until(monotonic_ns() + static_cast<std::int64_t>(world_.below(2'000'000)));
      }
      if (plan_.gives_frames_up && !left.empty() && world_.chance(5)) {
        return;
      }
    }
    ++produced_;
    rest();
  }

  void rest() {
    if (plan_.delivery == Delivery::latest) {
      stream_.sleep_until(monotonic_ns() + static_cast<std::int64_t>(world_.below(5'000'000)));
    }
  }

  /// False if there is no memory: the next call may have some.
  bool begin_epoch_when_due() {
    if (produced_ < epoch_due_) {
      return true;
    }
    try {
      stream_.begin_epoch({.layout = bytes_layout(1 + world_.below(plan_.largest_frame_bytes)), .colour = {}});
    } catch (const Error&) {
      EXPECT_FALSE(plan_.is_undisturbed());
      return false;
    }
    epoch_due_ = plan_.frames_per_epoch == UINT64_MAX ? UINT64_MAX : produced_ + plan_.frames_per_epoch;
    return true;
  }

  /// A source that cannot wait, such as a camera, drops a frame for which there is no room.
  std::optional<ClaimedSlot> claim() {
    if (!plan_.drops_at_source) {
      return plan_.source_has_event_loop ? claim_by_descriptor() : stream_.claim();
    }
    for (;;) {
      if (auto slot = stream_.claim_now(); slot || viewers_ == 0 || produced_ >= plan_.frames) {
        return slot;
      }
      stream_.drop_frame();
      ++dropped_;
      stream_.sleep_until(monotonic_ns() + ns_per_ms);
    }
  }

  std::optional<ClaimedSlot> claim_by_descriptor() {
    for (bool is_told = true;;) {
      auto slot = stream_.claim_now();
      EXPECT_TRUE(is_told || !slot) << "the stream's descriptor did not tell of room";
      if (slot || stream_.is_stopping()) {
        return slot;
      }
      is_told = !stream_.arm() || wait_for(stream_.descriptor(), POLLIN, monotonic_ns() + 5 * ns_per_s);
    }
  }

  World& world_;
  const Plan& plan_;
  Stream stream_;
  std::uint64_t viewers_ = 0;
  std::uint64_t running_ = 0;  // threads
  std::uint64_t produced_ = 0;
  std::uint64_t numbers_ = 0;  // given to frames
  std::uint64_t epoch_due_ = 0;
  std::uint64_t dropped_ = 0;
  std::int64_t finished_ns_ = INT64_MAX;
  std::vector<std::thread> threads_;
};

}  // namespace framewire::sim
