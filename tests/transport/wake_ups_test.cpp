// Whom a stream and its inbox wake, and that they hold no mutex meanwhile.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/file_descriptor.hpp"
#include "base/wait.hpp"
#include "tests/base/eventually.hpp"
#include "tests/transport/attached_viewer.hpp"
#include "transport/source_inbox.hpp"
#include "transport/stream.hpp"

namespace framewire::test {
namespace {

const StreamFormat woken_format{.layout = bytes_layout(100), .colour = {}};

// ---- The source ----

class WakingTheSource : public testing::Test {
 protected:
  /// A source that waits for room, which a viewer holds.
  void wait_for_room(
      StreamOptions options, const std::function<void(HoldingLink&)>& prepare = [](HoldingLink&) {}) {
    stream_.emplace(std::move(options));
    stream_->begin_epoch(woken_format);
    viewer_.emplace(*stream_, stream_->options().delivery);
    prepare(viewer_->link);
    ASSERT_TRUE(viewer_->get_ready());
    while (auto slot = stream_->claim_now()) {
      stream_->publish(std::move(*slot), {});
    }
    viewer_->make_progress();
    ASSERT_TRUE(stream_->arm());
  }
  [[nodiscard]] bool is_woken() const { return wait_for(stream_->descriptor(), POLLIN, 0); }

  std::optional<Stream> stream_;
  std::optional<AttachedViewer> viewer_;
};

TEST_F(WakingTheSource, ASessionThatHasNothingNewDoesNot) {
  wait_for_room({.name = "test"});
  for (int looks = 0; looks < 3; ++looks) {
    viewer_->make_progress();
    EXPECT_FALSE(is_woken());
    EXPECT_TRUE(viewer_->link.is_armed) << "the source sleeps, and the next credit wakes nobody";
  }
  viewer_->link.done.push_back(viewer_->link.sent.front());
  viewer_->make_progress();
  EXPECT_TRUE(is_woken()) << "a slot came back";
}

TEST_F(WakingTheSource, ASessionThatSendsAFrameDoesUnderEvery) {
  wait_for_room({.name = "test", .delivery = Delivery::every}, [](HoldingLink& link) { link.credits = 1; });
  viewer_->make_progress();
  EXPECT_FALSE(is_woken());
  viewer_->link.credits = 1;
  viewer_->make_progress();
  EXPECT_TRUE(is_woken()) << "the slot is the link's, but there is room for another frame to wait";
}

TEST_F(WakingTheSource, ACreditWithoutASlotDoesWhereOneFrameIsInFlight) {
  wait_for_room({.name = "test", .delivery = Delivery::every, .one_in_flight = true},
                [](HoldingLink& link) { link.releases_at_once = true; });
  viewer_->make_progress();
  EXPECT_FALSE(is_woken());
  viewer_->link.acknowledged = 1;
  viewer_->make_progress();
  EXPECT_TRUE(is_woken());
}

// ---- Sessions ----

/// Stands for a session's event: who signals it waits until empty() is called.
class FullPipe {
 public:
  FullPipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    reads_ = FileDescriptor::from([&] { return ends[0]; });
    event = std::make_shared<const FileDescriptor>(FileDescriptor::from([&] { return ends[1]; }));
    const std::array<std::byte, 4096> page{};
    while (::write(event->get(), page.data(), page.size()) > 0) {
    }
    set_non_blocking(event->get(), false);
  }
  void empty() const {
    std::array<std::byte, 4096> page;
    while (::read(reads_.get(), page.data(), page.size()) > 0) {
    }
  }

  SharedEvent event;

 private:
  FileDescriptor reads_;
};

/// `has_happened` takes the mutex: it returns only if `act` does not hold it while it signals the pipe.
void expect_no_mutex_while_signalling(const FullPipe& pipe, const std::function<void()>& act,
                                      const std::function<bool()>& has_happened) {
  const auto acting = std::async(std::launch::async, act);
  const auto seen = std::async(std::launch::async, [&] {
    while (!has_happened()) {
      std::this_thread::yield();
    }
  });
  if (seen.wait_for(std::chrono::nanoseconds(timeout_ns)) != std::future_status::ready) {
    ADD_FAILURE() << "a session is woken under the mutex";
    std::_Exit(1);
  }
  pipe.empty();
}

TEST(WakingSessions, HappensWithTheMutexFreeAtTheEnd) {
  Stream stream({.name = "test", .allows_pull = true});
  const FullPipe pipe;
  ASSERT_TRUE(stream.add_puller(pipe.event));
  expect_no_mutex_while_signalling(
      pipe, [&] { stream.finish(); }, [&] { return stream.is_finished(); });
  stream.remove_puller(pipe.event);
}

TEST(WakingSessions, HappensWithTheMutexFreeWhenADeviceHasFinished) {
  Stream stream({.name = "test"});
  stream.begin_epoch(woken_format);
  const FullPipe pipe;
  ASSERT_TRUE(stream.add_puller(pipe.event));
  const auto filled = std::make_shared<Fence>();
  stream.publish(std::move(*stream.claim()), {.ready = filled});
  ASSERT_EQ(stream.slots_in_use(), 1U);
  expect_no_mutex_while_signalling(
      pipe, [&] { filled->finish(FenceState::done); }, [&] { return stream.slots_in_use() == 0; });
  stream.remove_puller(pipe.event);
}

TEST(WakingSessions, HappensWithTheMutexFreeForAMessage) {
  SourceInbox inbox;
  const FullPipe pipe;
  inbox.join(&pipe, pipe.event);
  expect_no_mutex_while_signalling(
      pipe, [&] { inbox.broadcast("{}"); }, [&] { return inbox.counts().messages_sent == 1; });
  inbox.leave(&pipe);
}

TEST(WakingSessions, KeepsTheEventOfOneThatHasEnded) {
  SharedEvent event = make_shared_event();
  const FileDescriptor same = duplicate(event->get());
  {
    EventList sessions;
    sessions.add(event);
    event.reset();
  }
  EXPECT_TRUE(clear_eventfd(same.get()));
}

}  // namespace
}  // namespace framewire::test
