// Simulates whole fan-outs: one stream and several viewers on wires with random delays. Viewers stall, leave and come
// back. Frames lie in host memory, or in that of a device, which copies them in slices. One printed seed determines
// everything. No frame may be torn, repeated or out of order, and the counts must add up.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.hpp"
#include "frame/test_pattern.hpp"
#include "tests/base/seed.hpp"
#include "tests/memory/untouchable_memory.hpp"
#include "transport/fake/fake_wire.hpp"
#include "transport/stream.hpp"

namespace framewire::test {
namespace {

constexpr std::uint32_t slots_per_viewer = 3;
constexpr std::uint32_t max_viewers = 4;
constexpr std::uint16_t max_slices_here = 3;  // of a frame

/// One viewer on its wire. Each call is one step of the session or of the subscriber.
class SimulatedViewer {
 public:
  SimulatedViewer(VirtualClock& clock, Stream& stream, std::uint64_t seed, Delivery delivery)
      : stream_(stream),
        delivery_(delivery),
        wire_(clock, {.seed = seed}),
        sender_(wire_.take_sender()),
        receiver_(wire_.take_receiver()),
        wake_(make_shared_event()),
        queue_(*sender_, delivery, wake_) {
    is_attached_ = stream_.attach(queue_);
  }
  ~SimulatedViewer() { leave(); }

  [[nodiscard]] bool is_attached() const { return is_attached_; }
  [[nodiscard]] FakeWire& wire() { return wire_; }

  /// A step of the session's thread: announces epochs, collects released slots, sends frames.
  void serve() {
    while (const auto epoch = stream_.epoch_to_announce(queue_)) {
      sender_->begin_epoch(epoch->pool);
      receiver_->begin_epoch(epoch->number, epoch->pool->slot_bytes(), slots_per_viewer, {});
      EXPECT_TRUE(stream_.epoch_ready(queue_, epoch->number, slots_per_viewer, {}, true));
      EXPECT_FALSE(stream_.epoch_ready(queue_, epoch->number, slots_per_viewer)) << "credits out of nothing";
      EXPECT_TRUE(stream_.epoch_ready(queue_, epoch->number - 1, slots_per_viewer)) << "late, and passed over";
      pools_.push_back(epoch->pool);
    }
    stream_.make_progress(queue_);
  }

  /// A step of the program's thread: receives all frames and returns some of them.
  void look(std::mt19937_64& random) {
    while (auto frame = receiver_->poll()) {
      if (frame->header.is_aborted) {
        receiver_->return_credit(frame->header);
        continue;
      }
      EXPECT_FALSE(find_torn_line(frame->payload, frame->header.sequence)) << "torn frame " << frame->header.sequence;
      if (received_ > 0) {
        EXPECT_GT(frame->header.sequence, last_sequence_) << "out of order or twice";
        if (delivery_ == Delivery::every) {
          EXPECT_EQ(frame->header.sequence, last_sequence_ + 1) << "a frame is missing under 'every'";
        }
      }
      last_sequence_ = frame->header.sequence;
      ++received_;
      held_.push_back(*frame);
    }
    while (!held_.empty() && random() % 3 != 0) {
      EXPECT_FALSE(find_torn_line(held_.front().payload, held_.front().header.sequence))
          << "a slot changed while it was held";
      receiver_->return_credit(held_.front().header);
      held_.erase(held_.begin());
    }
  }

  /// Steps until all sent frames are received and returned.
  void settle(std::mt19937_64& random) {
    for (int i = 0; i < 10'000 && (wire_.step() || !held_.empty() || !queue_.waiting.empty() || queue_.begun); ++i) {
      serve();
      look(random);
    }
  }

  void expect_identities() const {
    const SubscriberQueueCounts counts = stream_.counts(queue_);
    EXPECT_EQ(counts.frames_produced, counts.frames_skipped + counts.frames_sent + counts.frames_aborted +
                                          queue_.waiting.size() + (queue_.begun ? 1 : 0));
    EXPECT_LE(received_, counts.frames_sent);
    EXPECT_LE(queue_.held.size(), queue_.max_held);
  }
  void expect_settled() const {
    const SubscriberQueueCounts counts = stream_.counts(queue_);
    EXPECT_EQ(counts.frames_produced, counts.frames_skipped + counts.frames_sent);
    EXPECT_EQ(received_, counts.frames_sent);
    EXPECT_EQ(sender_->frames_acknowledged(), counts.frames_sent);
    EXPECT_TRUE(queue_.held.empty());
  }
  /// The number of this viewer's epochs whose memory still exists.
  [[nodiscard]] auto pools_alive() const {
    return std::ranges::count_if(pools_, [](const auto& pool) { return !pool.expired(); });
  }
  [[nodiscard]] std::uint64_t received() const { return received_; }
  [[nodiscard]] std::uint64_t last_sequence() const { return last_sequence_; }

  /// Ends the viewer's queue; returns the number of frames sent.
  std::uint64_t conclude() { return stream_.conclude(queue_).frames_sent; }

  void leave() {
    if (is_attached_) {
      stream_.detach(queue_);
      sender_.reset();
      stream_.release_held(queue_);
      is_attached_ = false;
    }
  }

 private:
  Stream& stream_;
  Delivery delivery_;
  FakeWire wire_;
  std::unique_ptr<SenderLink> sender_;
  std::unique_ptr<ReceiverLink> receiver_;
  SharedEvent wake_;
  SubscriberQueue queue_;
  bool is_attached_ = false;
  std::vector<IncomingFrame> held_;
  std::vector<std::weak_ptr<Pool>> pools_;  // of every epoch so far
  std::uint64_t received_ = 0;
  std::uint64_t last_sequence_ = 0;
};

class World {
 public:
  World(std::uint64_t seed, Delivery delivery, std::uint64_t first_sequence, bool is_on_device = false)
      : random_(seed),
        delivery_(delivery),
        is_on_device_(is_on_device),
        stream_({.name = "sim",
                 .delivery = delivery,
                 .slots_per_viewer = slots_per_viewer,
                 .max_viewers = max_viewers,
                 .first_sequence = first_sequence,
                 .memory = is_on_device ? &memory_ : &host_memory(),
                 .slices = max_slices_here}) {
    memory_.hold();
    begin_epoch();
  }

  void begin_epoch() {
    const std::uint64_t most_bytes = is_on_device_ ? 2 * max_slices_here * slice_alignment_bytes : 2000;
    stream_.begin_epoch({.layout = bytes_layout(1 + random_() % most_bytes), .colour = {}});
  }

  void add_viewer() {
    auto viewer = std::make_unique<SimulatedViewer>(clock_, stream_, random_(), delivery_);
    EXPECT_EQ(viewer->is_attached(), viewers_.size() < max_viewers);
    if (viewer->is_attached()) {
      viewers_.push_back(std::move(viewer));
    }
  }
  void remove_viewer() {
    if (!viewers_.empty()) {
      viewers_.erase(viewers_.begin() + static_cast<std::ptrdiff_t>(random_() % viewers_.size()));
    }
  }

  void publish() {
    auto slot = stream_.claim_now();
    if (!slot) {
      return;
    }
    if (random_() % 50 == 0) {
      return;  // the source drops this frame, and its slot becomes free
    }
    const auto bytes =
        is_on_device_
            ? UntouchableMemory::on_device(*slot->block()).subspan(slot->offset_in_block_bytes(), slot->bytes().size())
            : slot->bytes();
    write_test_lines(bytes, slot->next_sequence());
    stream_.publish(std::move(*slot), {.has_test_pattern = true, .layout = {}, .is_on_device = is_on_device_});
    ++published_;
  }

  /// The device ends some copies, in an order of its own. Where frames may be missing, some fail.
  void end_copies(std::size_t most) {
    for (std::size_t i = 0; i < most && memory_.held() > 0; ++i) {
      const bool fails = delivery_ == Delivery::latest && random_() % 50 == 0;
      memory_.end_held(random_() % memory_.held(), fails ? std::optional(FenceState::failed) : std::nullopt);
    }
  }

  void step() {
    const std::uint64_t choice = random_() % 1000;
    if (choice < 5) {
      add_viewer();
    } else if (choice < 8) {
      remove_viewer();
    } else if (choice < 10) {
      begin_epoch();
    } else if (choice < 12 && !viewers_.empty()) {
      viewers_[random_() % viewers_.size()]->wire().cut();
    } else if (choice < 400) {
      publish();
    } else {
      clock_.advance_to_ns(clock_.now_ns() + static_cast<std::int64_t>(random_() % (2 * ns_per_ms)));
    }
    if (is_on_device_) {
      end_copies(random_() % 6);
    }
    for (const auto& viewer : viewers_) {
      viewer->wire().run_due();
      if (random_() % 4 != 0) {
        viewer->serve();
      }
      if (random_() % 3 == 0) {
        viewer->look(random_);
      }
      viewer->expect_identities();
    }
  }

  /// One millisecond without faults: publishes a frame, and all viewers receive.
  void pass_a_moment() {
    publish();
    while (memory_.held() > 0) {
      memory_.end_held(random_() % memory_.held());
    }
    clock_.advance_to_ns(clock_.now_ns() + ns_per_ms);
    for (const auto& viewer : viewers_) {
      viewer->wire().run_due();
      viewer->serve();
      viewer->look(random_);
    }
  }

  std::mt19937_64 random_;
  Delivery delivery_;
  bool is_on_device_;
  VirtualClock clock_;
  UntouchableMemory memory_;
  Stream stream_;
  std::vector<std::unique_ptr<SimulatedViewer>> viewers_;
  std::uint64_t published_ = 0;
};

class FanOut : public testing::TestWithParam<std::tuple<Delivery, bool>> {
 protected:
  static World make_world(std::uint64_t seed, std::uint64_t first_sequence) {
    return {seed, std::get<0>(GetParam()), first_sequence, std::get<1>(GetParam())};
  }
};

TEST_P(FanOut, WhoHasBeenToldHowManyFramesThereWereGetsNoMore) {
  World world = make_world(chosen_seed(), 0);
  world.add_viewer();
  for (int i = 0; i < 500; ++i) {
    world.pass_a_moment();
    if (i == 200) {
      EXPECT_GT(world.viewers_.front()->conclude(), 10U);
    }
  }
  const std::uint64_t told = world.viewers_.front()->conclude();
  EXPECT_EQ(world.viewers_.front()->received(), told);
  EXPECT_GT(world.published_, told) << "there were more";
}

TEST_P(FanOut, NothingTornNothingTwiceAndTheCountsAddUp) {
  const std::uint64_t seed = chosen_seed();
  SCOPED_TRACE("FRAMEWIRE_SEED=" + std::to_string(seed));
  std::mt19937_64 seeds(seed);
  const int rounds = std::get<1>(GetParam()) ? 5 : 20;  // copies take their time here, too
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    World world = make_world(seeds(), (std::uint64_t{1} << 32) - 100);
    world.add_viewer();
    for (int i = 0; i < 3000 && !HasFailure(); ++i) {
      world.step();
    }
    world.viewers_.clear();
    EXPECT_EQ(world.stream_.frames_produced(), world.published_);
  }
}

TEST_P(FanOut, AnUndisturbedViewerGetsEverythingThatWasSent) {
  const std::uint64_t seed = chosen_seed();
  World world = make_world(seed, 0);
  world.add_viewer();
  world.add_viewer();
  for (int i = 0; i < 2000; ++i) {
    world.pass_a_moment();
  }
  for (const auto& viewer : world.viewers_) {
    viewer->settle(world.random_);
    viewer->expect_settled();
    EXPECT_EQ(viewer->last_sequence() + 1, world.published_) << "the newest frame always arrives";
  }
  EXPECT_GT(world.published_, 100U);
}

INSTANTIATE_TEST_SUITE_P(Deliveries, FanOut,
                         testing::Combine(testing::Values(Delivery::latest, Delivery::every), testing::Bool()),
                         [](const auto& one) {
                           return std::string(name(std::get<0>(one.param))) + (std::get<1>(one.param) ? "_copied" : "");
                         });

TEST(FanOutUnderEvery, TheMemoryOfAnEpochGoesWithItsLastFrame) {
  World world(chosen_seed(), Delivery::every, 0);
  world.add_viewer();
  for (int epoch = 0; epoch < 5; ++epoch) {
    world.publish();
    world.publish();
    world.viewers_[0]->serve();
    world.begin_epoch();
  }
  world.viewers_[0]->settle(world.random_);
  world.viewers_[0]->serve();
  world.viewers_[0]->expect_settled();
  EXPECT_LE(world.viewers_[0]->pools_alive(), 1);
}

TEST(FanOutUnderLatest, AStalledViewerCostsTheOthersNothing) {
  World world(chosen_seed(), Delivery::latest, 0);
  for (int i = 0; i < 4; ++i) {
    world.add_viewer();
  }
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t before = world.published_;
    for (int tries = 0; tries < 10 && world.published_ == before; ++tries) {
      world.publish();
    }
    ASSERT_EQ(world.published_, before + 1) << "the source was held up";
    world.clock_.advance_to_ns(world.clock_.now_ns() + 20 * ns_per_ms);
    for (std::size_t v = 0; v < 4; ++v) {
      world.viewers_[v]->wire().run_due();
      world.viewers_[v]->serve();
      if (v != 0) {  // the first viewer never receives
        for (int again = 0; again < 8; ++again) {
          world.viewers_[v]->look(world.random_);
          world.clock_.advance_to_ns(world.clock_.now_ns() + 10 * ns_per_ms);
          world.viewers_[v]->wire().run_due();
          world.viewers_[v]->serve();
        }
      }
    }
  }
  EXPECT_EQ(world.viewers_[0]->received(), 0U);
  for (std::size_t v = 1; v < 4; ++v) {
    EXPECT_GE(world.viewers_[v]->received(), 990U);
  }
}

TEST(FanOutUnderEvery, TheSlowestViewerSetsThePace) {
  World world(chosen_seed(), Delivery::every, 0);
  world.add_viewer();
  world.add_viewer();
  for (int i = 0; i < 100; ++i) {
    world.publish();
    world.clock_.advance_to_ns(world.clock_.now_ns() + 10 * ns_per_ms);
    for (const auto& viewer : world.viewers_) {
      viewer->wire().run_due();
      viewer->serve();
    }
    world.viewers_[1]->look(world.random_);
  }
  // The first viewer received nothing: its ring is full, two frames wait for it, and the source is blocked.
  EXPECT_EQ(world.published_, slots_per_viewer + 2U);
}

}  // namespace
}  // namespace framewire::test
