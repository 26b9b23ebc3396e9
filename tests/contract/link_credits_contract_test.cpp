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

}  // namespace
}  // namespace framewire::test
