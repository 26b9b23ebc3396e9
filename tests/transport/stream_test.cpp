// When a stream wakes its viewers, and how many it takes.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <vector>

#include "base/file_descriptor.hpp"
#include "tests/base/eventually.hpp"
#include "tests/transport/holding_link.hpp"
#include "transport/stream.hpp"
#include "transport/wake_list.hpp"

namespace framewire::test {
namespace {

/// wake() locks the stream's mutex, by a call on another thread. If the stream holds the mutex during wake(), the call
/// never returns: then wake() ends the program.
class AskingWaker final : public PeerWaker {
 public:
  explicit AskingWaker(const Stream& stream) : stream_(stream) {}
  void wake() noexcept override {
    const auto asked = std::async(std::launch::async, [this] { return stream_.viewer_count(); });
    if (asked.wait_for(std::chrono::nanoseconds(timeout_ns)) != std::future_status::ready) {
      ADD_FAILURE() << "a viewer is woken under the stream's mutex";
      std::_Exit(1);
    }
    ++wakes;
  }

  int wakes = 0;

 private:
  const Stream& stream_;
};

/// A link with a given number of credits, and a viewer that always sleeps.
class WakingLink final : public SenderLink {
 public:
  explicit WakingLink(std::shared_ptr<AskingWaker> waker) : waker_(std::move(waker)) {}
  [[nodiscard]] LinkKind kind() const noexcept override { return LinkKind::local; }
  void begin_epoch(std::shared_ptr<Pool> /*pool*/) override {}
  void epoch_ready(std::uint32_t, std::uint32_t, const LinkDescription&) noexcept override {}
  SendResult try_send(const OutgoingFrame& frame) noexcept override {
    if (credits == 0) {
      return SendResult::no_credit;
    }
    --credits;
    has_offered_ = true;
    released_.push_back(frame.pool_slot);
    return SendResult::accepted;
  }
  [[nodiscard]] std::shared_ptr<PeerWaker> take_waker() noexcept override {
    return std::exchange(has_offered_, false) ? waker_ : nullptr;
  }
  std::size_t poll_released(std::span<PoolSlot> released) noexcept override {
    std::size_t count = 0;
    for (; count < released.size() && !released_.empty(); released_.pop_back()) {
      released[count++] = released_.back();
    }
    return count;
  }
  bool arm() noexcept override { return released_.empty(); }
  [[nodiscard]] int descriptor() const noexcept override { return -1; }
  void on_readable() noexcept override {}
  [[nodiscard]] LinkState state() const noexcept override { return LinkState::open; }
  [[nodiscard]] std::string fault() const override { return {}; }
  [[nodiscard]] std::uint64_t frames_acknowledged() const noexcept override { return 0; }

  int credits = 0;

 private:
  std::shared_ptr<AskingWaker> waker_;
  bool has_offered_ = false;
  std::vector<PoolSlot> released_;
};

class Waking : public testing::Test {
 protected:
  Waking() {
    stream_.begin_epoch({.layout = bytes_layout(100), .colour = {}});
    EXPECT_TRUE(stream_.attach(queue_));
    EXPECT_TRUE(stream_.epoch_to_announce(queue_));
  }
  ~Waking() override {
    stream_.detach(queue_);
    stream_.release_held(queue_);
  }

  void get_ready() { EXPECT_TRUE(stream_.epoch_ready(queue_, 1, 3)); }
  void publish() {
    auto slot = stream_.claim();
    ASSERT_TRUE(slot);
    stream_.publish(std::move(*slot), {.layout = {}});
  }

  Stream stream_{{.name = "test", .delivery = Delivery::latest}};
  std::shared_ptr<AskingWaker> waker_ = std::make_shared<AskingWaker>(stream_);
  WakingLink link_{waker_};
  SharedEvent event_ = make_shared_event();
  SubscriberQueue queue_{link_, Delivery::latest, event_};
};

TEST_F(Waking, TheFirstFrameCanWaitForAViewerThatGetsIt) {
  std::atomic<bool> is_ready = false;
  auto waited = std::async(std::launch::async, [&] { return stream_.wait_for_ready_viewer() && is_ready; });
  is_ready = true;
  get_ready();
  EXPECT_TRUE(waited.get()) << "a viewer that is attached is not ready yet";
}

TEST_F(Waking, FramesBeforeAViewersFirstOneAreNotItsOwn) {
  publish();
  publish();
  EXPECT_EQ(stream_.counts(queue_).first_frame, 0U);
  link_.credits = 2;
  get_ready();
  publish();
  const SubscriberQueueCounts counts = stream_.counts(queue_);
  EXPECT_EQ(counts.first_frame, 2U);
  EXPECT_EQ(counts.frames_produced, 2U);
  EXPECT_EQ(counts.frames_sent, 2U);
}

TEST_F(Waking, HappensWithTheMutexFreeOnEveryThreadThatOffers) {
  publish();
  link_.credits = 1;
  get_ready();
  EXPECT_EQ(waker_->wakes, 1) << "the session that is ready";
  link_.credits = 1;
  publish();
  EXPECT_EQ(waker_->wakes, 2) << "the source";
  publish();
  EXPECT_EQ(waker_->wakes, 2) << "nothing was sent";
  link_.credits = 1;
  stream_.make_progress(queue_);
  EXPECT_EQ(waker_->wakes, 3) << "the session that serves";
}

TEST_F(Waking, AViewerThatIsGivenManyFramesIsWokenOnce) {
  WakingLink link(waker_);
  {
    WakeList wakes;
    for (std::size_t i = 0; i < 2 * WakeList::max_links; ++i) {
      link.credits = 1;
      ASSERT_EQ(link.try_send({}), SendResult::accepted);
      wakes.add(link);
    }
  }
  EXPECT_EQ(waker_->wakes, 1);
}

TEST(WakingUnderEvery, TheSourceThatWaitsForRoomWakesToo) {
  Stream stream({.name = "test", .delivery = Delivery::every});
  const auto waker = std::make_shared<AskingWaker>(stream);
  WakingLink link(waker);
  const SharedEvent event = make_shared_event();
  SubscriberQueue queue(link, Delivery::every, event);
  stream.begin_epoch({.layout = bytes_layout(100), .colour = {}});
  ASSERT_TRUE(stream.attach(queue));
  ASSERT_TRUE(stream.epoch_to_announce(queue));
  ASSERT_TRUE(stream.epoch_ready(queue, 1, 3));
  while (auto slot = stream.claim_now()) {
    stream.publish(std::move(*slot), {.layout = {}});
  }
  EXPECT_EQ(waker->wakes, 0);
  link.credits = 1;
  EXPECT_TRUE(stream.claim());
  EXPECT_EQ(waker->wakes, 1);
  stream.detach(queue);
  stream.release_held(queue);
}

/// A viewer's queue, ready for the first epoch.
struct Viewer {
  explicit Viewer(Stream& its_stream) : stream(its_stream), waker(std::make_shared<AskingWaker>(its_stream)) {}
  ~Viewer() {
    if (is_attached) {
      stream.detach(queue);
      stream.release_held(queue);
    }
  }
  Viewer(const Viewer&) = delete;
  Viewer& operator=(const Viewer&) = delete;

  bool attach(Viewer* replaced = nullptr) {
    is_attached = stream.attach(queue, replaced != nullptr ? &replaced->queue : nullptr);
    return is_attached;
  }
  void get_ready() {
    ASSERT_TRUE(stream.epoch_to_announce(queue));
    ASSERT_TRUE(stream.epoch_ready(queue, 1, 3));
  }

  Stream& stream;
  std::shared_ptr<AskingWaker> waker;
  WakingLink link{waker};
  SharedEvent event = make_shared_event();
  SubscriberQueue queue{link, Delivery::latest, event};
  bool is_attached = false;
};

TEST(AFullStream, LetsAllItsViewersChangeTheirLinksAtOnce) {
  Stream stream({.name = "test", .delivery = Delivery::latest, .max_viewers = 2});
  stream.begin_epoch({.layout = bytes_layout(100), .colour = {}});
  std::array<Viewer, 2> before{Viewer(stream), Viewer(stream)};
  Viewer another(stream);
  std::array<Viewer, 2> after{Viewer(stream), Viewer(stream)};
  for (Viewer& viewer : before) {
    ASSERT_TRUE(viewer.attach());
    viewer.get_ready();
  }
  EXPECT_TRUE(after[0].attach(&before[0]));
  EXPECT_TRUE(after[1].attach(&before[1])) << "the first viewer has not detached its old queue yet";
  EXPECT_FALSE(another.attach()) << "two viewers are still there";
  for (Viewer& viewer : after) {
    viewer.get_ready();
  }
  for (Viewer* viewer : {&before[0], &before[1], &after[0], &after[1]}) {
    viewer->link.credits = 1;
  }
  auto slot = stream.claim();
  ASSERT_TRUE(slot);
  stream.publish(std::move(*slot), {.layout = {}});
  for (Viewer* viewer : {&before[0], &before[1], &after[0], &after[1]}) {
    EXPECT_EQ(viewer->waker->wakes, 1) << "each queue has room for its wake-up";
  }
}

/// A source that renders on request waits for one, and for nothing else.
TEST(StreamThatEndsWithItsViewers, EndsTheWaitForARequest) {
  Stream stream({.name = "test", .ends_with_viewers = true});
  stream.begin_epoch({.layout = bytes_layout(100), .colour = {}});
  stream.renders().offer();
  HoldingLink link;
  const SharedEvent event = make_shared_event();
  SubscriberQueue queue(link, Delivery::latest, event);
  ASSERT_TRUE(stream.attach(queue));
  const int viewer = 0;
  ASSERT_FALSE(stream.renders().ask(&viewer, {.id = 1, .camera = orbiting_camera(0, 0, 4), .time_ns = 5}));
  ASSERT_TRUE(stream.next_render(INT64_MAX));
  auto next = std::async(std::launch::async, [&] { return stream.next_render(INT64_MAX).has_value(); });
  stream.detach(queue);
  EXPECT_EQ(next.wait_for(std::chrono::nanoseconds(timeout_ns)), std::future_status::ready);
  EXPECT_FALSE(next.get());
  EXPECT_TRUE(stream.renders().is_driven()) << "it waited until the viewer's time was over";
}

}  // namespace
}  // namespace framewire::test
