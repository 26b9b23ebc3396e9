// Read mode on real verbs: what the viewer reads, also while the source overwrites slots.
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <optional>
#include <thread>

#include "base/clock.hpp"
#include "tests/rdma_lab/pulling.hpp"

namespace framewire::test {
namespace {

TEST_F(PullingAStream, EveryFrameThatItHasTimeFor) {
  for (const std::uint64_t bytes :
       {std::uint64_t{1}, std::uint64_t{100}, std::uint64_t{4097}, std::uint64_t{3'000'000}}) {
    begin_epoch(bytes);
    for (int i = 0; i < 5; ++i) {
      publish();
      const auto frame = next_frame();
      ASSERT_TRUE(frame) << puller_->fault();
      EXPECT_EQ(frame->payload.size(), bytes);
      EXPECT_EQ(frame->header.sequence + 1, stream_.frames_produced());
      expect_whole(*frame);
      puller_->return_credit(frame->header);
    }
  }
  EXPECT_EQ(puller_->frames_discarded(), 0U);
}

TEST_F(PullingAStream, TheSameFrameOnlyOnce) {
  begin_epoch(100);
  publish();
  const auto frame = next_frame();
  ASSERT_TRUE(frame);
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(puller_->poll());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST_F(PullingAStream, TheNewestAndNoneBefore) {
  begin_epoch(100);
  for (int i = 0; i < 30; ++i) {
    publish();
  }
  const auto frame = next_frame();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->header.sequence, 29U);
}

TEST_F(PullingAStream, NoRoomNoLook) {
  begin_epoch(100);
  std::vector<IncomingFrame> held;
  for (int i = 0; i < 2; ++i) {
    publish();
    held.push_back(*next_frame());
  }
  publish();
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(puller_->poll());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (const IncomingFrame& frame : held) {
    expect_whole(frame);  // held frames are not overwritten
  }
  puller_->return_credit(held.front().header);
  const auto frame = next_frame();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->header.sequence, 2U);
}

TEST_F(PullingAStream, NothingBeforeTheProgramIsReady) {
  stream_.begin_epoch({.layout = bytes_layout(100), .colour = {}});
  const auto epoch = stream_.epoch_after(0);
  puller_->begin_epoch(epoch->number, 100, 2, read_target_->open(epoch->pool));
  bytes_ = 100;
  publish();
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(puller_->poll());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  puller_->epoch_is_ready();
  EXPECT_TRUE(next_frame());
}

TEST_F(PullingAStream, ASleeperIsWokenByItsTimerAndByEveryRead) {
  begin_epoch(100'000);
  publish();
  std::optional<IncomingFrame> frame;
  for (int wakes = 0; wakes < 100 && !frame; ++wakes) {
    frame = puller_->poll();
    if (!frame && puller_->arm()) {
      pollfd readable{.fd = puller_->descriptor(), .events = POLLIN, .revents = 0};
      ASSERT_EQ(::poll(&readable, 1, 10'000), 1) << "nothing woke it";
    }
  }
  EXPECT_TRUE(frame);
}

/// The source is much faster than the wire and has few slots, so frames are overwritten while they are read. Such
/// frames are counted as discarded. None is handed out torn.
TEST_F(PullingAStream, NothingTornFromASourceThatOverwrites) {
  begin_epoch(2'000'000);
  std::atomic<bool> stop = false;
  std::thread source([&] {
    while (!stop) {
      publish();
    }
  });
  const bool has_overwritten = eventually([&] {
    if (const auto frame = puller_->poll()) {
      expect_whole(*frame);
      puller_->return_credit(frame->header);
    }
    return puller_->frames_discarded() >= 5;
  });
  stop = true;
  source.join();
  EXPECT_TRUE(has_overwritten) << puller_->frames_discarded() << " discarded: the test has shown nothing";
  const auto frame = next_frame();
  ASSERT_TRUE(frame) << puller_->fault();
  expect_whole(*frame);
}

TEST_F(PullingAStream, AnEarlierPoolIsNotReadAnyMore) {
  begin_epoch(1'000'000);
  publish();
  puller_->poll();  // a read is in flight
  begin_epoch(500);
  publish();
  const auto frame = next_frame();
  ASSERT_TRUE(frame) << puller_->fault();
  EXPECT_EQ(frame->header.epoch, 2U);
  EXPECT_EQ(read_target_->state(), LinkState::open);
}

TEST_F(PullingAStream, AFrameThatIsHeldOutlivesItsFormat) {
  begin_epoch(1000);
  publish();
  const auto frame = next_frame();
  ASSERT_TRUE(frame);
  begin_epoch(2000);
  publish();
  const auto later = next_frame();
  ASSERT_TRUE(later);
  expect_whole(*frame);
  puller_->return_credit(frame->header);
  expect_whole(*later);
}

TEST_F(PullingAStream, EachEndHearsThatTheOtherIsGone) {
  begin_epoch(100);
  puller_.reset();
  EXPECT_TRUE(eventually([&] {
    read_target_->maintain();
    return read_target_->state() == LinkState::closed;
  }));
  EXPECT_NE(read_target_->fault().find("the other end"), std::string::npos);
}

TEST_F(PullingAStream, ASenderThatIsGoneIsNamed) {
  begin_epoch(100);
  read_target_.reset();
  EXPECT_TRUE(eventually([&] {
    puller_->maintain();
    puller_->poll();
    return puller_->state() != LinkState::open;
  }));
  EXPECT_NE(puller_->fault().find("the sender"), std::string::npos);
}

/// A viewer that waits for a sender to come back must sleep.
TEST_F(PullingAStream, AfterTheEndNothingWakes) {
  begin_epoch(100);
  read_target_.reset();
  ASSERT_TRUE(eventually([&] {
    puller_->maintain();
    puller_->poll();
    return puller_->state() != LinkState::open;
  }));
  ASSERT_TRUE(eventually([&] { return puller_->arm(); }));
  pollfd readable{.fd = puller_->descriptor(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&readable, 1, 300), 0);
}

TEST_F(PullingAStream, ASleeperIsWokenWhenTheProgramIsReadyAndWhenThereIsRoom) {
  stream_.begin_epoch({.layout = bytes_layout(100), .colour = {}});
  bytes_ = 100;
  const auto epoch = stream_.epoch_after(0);
  puller_->begin_epoch(epoch->number, 100, 1, read_target_->open(epoch->pool));
  publish();
  const auto is_readable = [&](int timeout_ms = 0) {
    pollfd readable{.fd = puller_->descriptor(), .events = POLLIN, .revents = 0};
    return ::poll(&readable, 1, timeout_ms) == 1;
  };
  ASSERT_TRUE(eventually([&] { return puller_->arm() && !is_readable(); }));
  puller_->epoch_is_ready();
  EXPECT_TRUE(is_readable(100));
  const auto frame = next_frame();
  ASSERT_TRUE(frame);
  ASSERT_TRUE(eventually([&] { return puller_->arm() && !is_readable(); }));
  puller_->return_credit(frame->header);
  EXPECT_TRUE(is_readable(100));
  puller_->return_credit(frame->header);  // the second call has no effect
  publish();
  ASSERT_TRUE(next_frame());
  EXPECT_FALSE(puller_->poll());
}

/// Like iWARP, which has no immediates. Read mode does not need them.
class PullingWithoutImmediates : public PullingAStream {
 protected:
  PullingWithoutImmediates() : PullingAStream({.immediates = false, .windows = false}) {}
};

TEST_F(PullingWithoutImmediates, FramesComeAndThePlainRegistrationIsSaid) {
  begin_epoch(1000);
  publish();
  const auto frame = next_frame();
  ASSERT_TRUE(frame) << puller_->fault();
  expect_whole(*frame);
  EXPECT_EQ(puller_->note(), " mode=pull ring=registration");
}

/// A device with small limits: eight requests, reads of 1,000 bytes.
class PullingWithLittle : public PullingAStream {
 protected:
  PullingWithLittle() : PullingAStream({.queue_depth = 8, .inline_bytes = 0, .chunk_bytes = 1000}) {}
};

TEST_F(PullingWithLittle, ManyReadsForAFrame) {
  begin_epoch(123'456);
  for (int i = 0; i < 3; ++i) {
    publish();
    const auto frame = next_frame();
    ASSERT_TRUE(frame) << puller_->fault();
    expect_whole(*frame);
    puller_->return_credit(frame->header);
  }
}

}  // namespace
}  // namespace framewire::test
