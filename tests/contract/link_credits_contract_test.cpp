// The contract of every link: credits.
#include <atomic>
#include <deque>
#include <mutex>
#include <thread>

#include "tests/contract/link_contract.hpp"

namespace framewire::test {
namespace {

TEST_P(LinkContract, AnyThreadMayReturnCredits) {
  if (GetParam().name == "fake") {
    GTEST_SKIP() << "it runs on one thread";
  }
  constexpr std::uint64_t count = 600;
  std::mutex mutex;
  std::deque<FrameHeader> held;
  std::atomic<bool> is_over = false;
  const auto return_credits = [&] {
    while (!is_over) {
      std::optional<FrameHeader> next;
      {
        const std::scoped_lock lock(mutex);
        if (!held.empty()) {
          next = held.front();
          held.pop_front();
        }
      }
      if (next) {
        pair_.receiver->return_credit(*next);
      } else {
        std::this_thread::yield();
      }
    }
  };
  std::thread one(return_credits);
  std::thread two(return_credits);
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  EXPECT_TRUE(eventually([&] {
    poll_released();
    if (sent < count && pool_->free_count() > 0) {
      const OutgoingFrame frame = make_frame(sent, 1000 + sent);
      if (try_send(frame)) {
        ++sent;
      } else {
        pool_->release(frame.pool_slot.index);
      }
    }
    while (auto frame = poll()) {
      expect_whole(*frame, received++);
      const std::scoped_lock lock(mutex);
      held.push_back(frame->header);
    }
    serve_sender();
    return pair_.sender->frames_acknowledged() == count;
  })) << sent
      << " sent, " << received << " received, " << pair_.sender->frames_acknowledged() << " acknowledged";
  is_over = true;
  one.join();
  two.join();
}

/// A ring that is large enough for credits to be held back, and small frames in it. Nobody maintains the links here:
/// that would send what is held back, too.
class LinkCredits : public LinkContract {
 protected:
  static constexpr std::uint32_t many_slots = 16;

  void SetUp() override {
    connect();
    begin_epoch(2, 1000, many_slots);
  }

  /// Sends frames, and gives them time to arrive together. No check depends on it.
  void send(std::uint64_t count) {
    for (std::uint64_t sequence = 0; sequence < count; ++sequence) {
      ASSERT_TRUE(try_send(make_frame(sequence, 100)));
    }
    let_frames_arrive_together();
  }

  void let_frames_arrive_together() {
    for (int i = 0; i < 20; ++i) {
      serve_sender();
      pair_.let_pass();
    }
  }

  std::optional<IncomingFrame> take() {
    const std::int64_t deadline_ns = monotonic_ns() + timeout_ns;
    while (monotonic_ns() < deadline_ns) {
      if (auto frame = poll()) {
        return frame;
      }
      serve_sender();
      pair_.let_pass();
    }
    return std::nullopt;
  }

  /// Takes frames, and returns all but the last one.
  void take_and_keep_the_last(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto frame = take();
      ASSERT_TRUE(frame);
      if (i + 1 < count) {
        pair_.receiver->return_credit(frame->header);
      }
    }
  }

  bool sender_gets(std::uint64_t credits) {
    const std::int64_t deadline_ns = monotonic_ns() + timeout_ns;
    while (pair_.sender->frames_acknowledged() < credits && monotonic_ns() < deadline_ns) {
      serve_sender();
      poll_released();
      pair_.let_pass();
    }
    return pair_.sender->frames_acknowledged() >= credits;
  }
};

/// A program that never sleeps looks for the next frame instead.
TEST_P(LinkCredits, GoOutWhenNoMoreFramesWait) {
  send(3);
  take_and_keep_the_last(3);
  EXPECT_FALSE(poll());
  EXPECT_TRUE(sender_gets(2));
}

/// A program that takes one frame each time it is woken does not look whether there is another one.
TEST_P(LinkCredits, GoOutBeforeTheProgramSleeps) {
  send(3);
  take_and_keep_the_last(3);
  EXPECT_TRUE(pair_.receiver->arm());
  EXPECT_TRUE(sender_gets(2));
}

TEST_P(LinkCredits, AreHeldBackForAQuarterOfTheRingAtMost) {
  std::uint64_t sent = 0;
  const auto send_what_it_takes = [&] {
    while (sent < many_slots) {
      const OutgoingFrame frame = make_frame(sent, 100);
      if (!try_send(frame)) {
        pool_->release(frame.pool_slot.index);
        return;
      }
      ++sent;
    }
  };
  send_what_it_takes();
  let_frames_arrive_together();
  std::uint64_t returned = 0;
  EXPECT_TRUE(eventually([&] {
    if (const auto frame = poll()) {
      pair_.receiver->return_credit(frame->header);
      ++returned;
    }
    serve_sender();
    poll_released();
    send_what_it_takes();  // a link with short queues takes fewer frames at once than the ring has slots
    return returned == many_slots - 4;
  })) << sent
      << " sent, " << returned << " returned";
  EXPECT_TRUE(sender_gets(many_slots - 4 - (many_slots / 4 - 1)));
}

INSTANTIATE_TEST_SUITE_P(Links, LinkCredits, testing::ValuesIn(link_makers()),
                         [](const auto& link) { return link.param.name; });

}  // namespace
}  // namespace framewire::test
