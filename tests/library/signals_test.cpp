// Signal handlers of the program: they may end waits, and do nothing else here.
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

#include "tests/library/programs.hpp"

namespace framewire::test {

namespace {

std::atomic<fw_stream*> stream_to_wake = nullptr;
std::atomic<fw_receiver*> receiver_to_wake = nullptr;

void wake_both(int) {
  fw_stream_wake(stream_to_wake);
  fw_receiver_wake(receiver_to_wake);
}

/// SIGUSR1 wakes both while this lives.
class WakingSignal {
 public:
  WakingSignal(fw_stream* stream, fw_receiver* receiver) {
    stream_to_wake = stream;
    receiver_to_wake = receiver;
    struct sigaction action {};
    action.sa_handler = wake_both;
    action.sa_flags = SA_RESTART;
    EXPECT_EQ(::sigaction(SIGUSR1, &action, &before_), 0);
  }
  ~WakingSignal() { ::sigaction(SIGUSR1, &before_, nullptr); }
  WakingSignal(const WakingSignal&) = delete;

 private:
  struct sigaction before_ {};
};

/// Claims and acquires for two seconds, while another thread interrupts this one all the time.
void stream_with_interruptions(const SendingProgram& sending, const ReceivingProgram& receiving) {
  const ::pthread_t self = ::pthread_self();
  std::atomic<bool> is_over = false;
  std::thread interrupting([&] {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    while (!is_over) {
      ::pthread_kill(self, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (std::chrono::steady_clock::now() < until) {
    fw_slot* slot = nullptr;
    fw_frame* frame = nullptr;
    if (fw_stream_claim(sending.stream, 0, 0, &slot) == FW_OK) {
      fw_slot_publish(slot, nullptr);
      fw_slot_unref(slot);
    }
    if (fw_receiver_acquire(receiving.receiver, 100'000, &frame) == FW_OK) {
      fw_frame_unref(frame);
    }
  }
  is_over = true;
  interrupting.join();
}

}  // namespace

TEST(LibrarySignals, AHandlerEndsWaitsOfItsThreadAndOfOthers) {
  SendingProgram sending;
  SendingProgram unwatched;
  ReceivingProgram receiving(sending);
  const WakingSignal signal(unwatched.stream, receiving.receiver);
  {
    const Waiting claiming([&] {
      fw_slot* slot = nullptr;
      EXPECT_EQ(fw_stream_claim(unwatched.stream, FW_FOR_EVER, 0, &slot), FW_WOKEN);
    });
    const Waiting acquiring([&] {
      fw_frame* frame = nullptr;
      EXPECT_EQ(fw_receiver_acquire(receiving.receiver, FW_FOR_EVER, &frame), FW_WOKEN);
    });
    errno = 77;
    ASSERT_EQ(::raise(SIGUSR1), 0);
    EXPECT_EQ(errno, 77);
  }
  const ::pthread_t self = ::pthread_self();
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ::pthread_kill(self, SIGUSR1);
  });
  fw_slot* slot = nullptr;
  EXPECT_EQ(fw_stream_claim(unwatched.stream, timeout_ns, 0, &slot), FW_WOKEN);
  later.join();
}

/// Wherever the signal interrupts the thread. A lock that the thread holds would never become free.
TEST(LibrarySignals, AHandlerNeverWaitsForItsOwnThread) {
  if (!children_may_start_threads()) {
    GTEST_SKIP() << "the thread sanitizer cannot follow this";
  }
  EXPECT_EQ(in_child([] {
              SendingProgram sending;
              ReceivingProgram receiving(sending);
              const WakingSignal signal(sending.stream, receiving.receiver);
              stream_with_interruptions(sending, receiving);
              return 0;
            }),
            0);
}

}  // namespace framewire::test
