// A stream of a simulated sender.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "frame/test_pattern.hpp"
#include "tests/sim/plan.hpp"
#include "tests/sim/world.hpp"
#include "transport/stream.hpp"

namespace framewire::sim {

/// A stream and the thread that fills it, until it has all frames or its last viewer has left.
class Source {
 public:
  Source(World& world, const Plan& plan, std::uint32_t number)
      : world_(world), plan_(plan), stream_(options_of(plan, number)) {}

  /// Every viewer that is to watch has been added.
  void start() {
    thread_ = std::thread([this] { produce(); });
  }
  void join() { thread_.join(); }
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

  void produce() {
    std::uint64_t produced = 0;
    bool begins_epoch = true;
    while (produced < plan_.frames && viewers_ > 0) {
      try {
        if (begins_epoch) {
          stream_.begin_epoch({.layout = bytes_layout(1 + world_.below(plan_.largest_frame_bytes)), .colour = {}});
          begins_epoch = false;
        }
      } catch (const Error&) {
        ASSERT_FALSE(plan_.is_undisturbed());
        continue;  // no memory; the next call may have some
      }
      auto slot = claim();
      if (!slot) {
        break;
      }
      write_test_lines(slot->bytes(), slot->next_sequence());
      stream_.publish(std::move(*slot), {.has_test_pattern = true, .layout = {}});
      ++produced;
      begins_epoch = produced % plan_.frames_per_epoch == 0;
      if (plan_.delivery == Delivery::latest) {
        stream_.sleep_until(monotonic_ns() + static_cast<std::int64_t>(world_.below(5'000'000)));
      }
    }
    if (viewers_ > 0) {  // otherwise the stream may have been stopped during a claim
      EXPECT_EQ(stream_.frames_dropped_at_source(), dropped_);
    }
    finished_ns_ = world_.now_ns();
    stream_.finish();
  }

  /// A source that cannot wait, such as a camera, drops a frame for which there is no room.
  std::optional<ClaimedSlot> claim() {
    if (!plan_.drops_at_source) {
      return stream_.claim();
    }
    for (;;) {
      if (auto slot = stream_.try_claim(); slot || viewers_ == 0) {
        return slot;
      }
      ++dropped_;
      stream_.sleep_until(monotonic_ns() + ns_per_ms);
    }
  }

  World& world_;
  const Plan& plan_;
  Stream stream_;
  std::uint64_t viewers_ = 0;
  std::uint64_t dropped_ = 0;
  std::int64_t finished_ns_ = INT64_MAX;
  std::thread thread_;
};

}  // namespace framewire::sim
