// A spinning viewer makes no system call for frames: neither when it receives one, nor when it polls and finds none.
// What it may make are credits over a socket, and yields between polls that find nothing.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "tests/data_path/streaming.hpp"
#include "tests/data_path/system_call_counter.hpp"

namespace framewire::test {
namespace {

/// By the number of the call.
using CallCounts = std::map<long, std::uint64_t>;

CallCounts counts_of(const SystemCallCounter& counter) {
  CallCounts counts;
  for (long number = 0; number < static_cast<long>(SystemCallCounter::numbers); ++number) {
    if (const std::uint64_t calls = counter.calls(number); calls > 0) {
      counts[number] = calls;
    }
  }
  return counts;
}

struct Measured {
  std::string why_not;  // why this machine cannot count
  CallCounts calls;
  std::uint64_t messages = 0;
  std::uint64_t empty_polls = 0;
  std::uint64_t source_pauses = 0;
};

constexpr std::uint32_t slots = 16;

/// Counts how often the source may have been away: another program had its processor. A session looks every
/// millisecond whether its source has polled meanwhile. Between two polls at most one message is filled.
class PauseWatch {
 public:
  /// On the source's thread, for each message.
  void fills() noexcept {
    const std::int64_t now_ns = monotonic_ns();
    pauses_ += last_ns_ != 0 && now_ns - last_ns_ >= ns_per_ms / 2 ? 1U : 0U;
    last_ns_ = now_ns;
  }
  /// Any thread.
  [[nodiscard]] std::uint64_t pauses() const noexcept { return pauses_; }

 private:
  std::int64_t last_ns_ = 0;
  std::atomic<std::uint64_t> pauses_{0};
};

/// Receives messages on a thread of its own, and counts the system calls of that thread.
Measured measure(LinkKind link) {
  constexpr std::uint64_t first = 100;  // not counted
  constexpr std::uint64_t count = 20'000;
  PauseWatch source;
  Measured measured;
  measured.messages = count - first;
  SystemCallCounter counter;
  std::thread viewer([&] {
    std::binary_semaphore may_end{0};
    Streaming streaming({.link = link, .slot_bytes = 64, .slots = slots, .wait = WaitMode::spin},
                        [&](std::span<std::byte>, std::uint64_t sequence) -> std::optional<std::uint64_t> {
                          source.fills();
                          if (sequence == count) {
                            may_end.acquire();
                            return std::nullopt;
                          }
                          return 64;
                        });
    const auto take = [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t sequence = begin; sequence < end; ++sequence) {
        if (!streaming.receive()) {
          ADD_FAILURE() << "message " << sequence << ": " << streaming.viewer().status().message;
          return;
        }
      }
    };
    take(0, first);
    const std::uint64_t waits_before = streaming.waits();
    measured.why_not = counter.count_this_thread();
    take(first, count);
    measured.calls = counts_of(counter);
    measured.empty_polls = streaming.waits() - waits_before;
    measured.source_pauses = source.pauses();
    may_end.release();
    EXPECT_FALSE(streaming.receive()) << "more than was sent";
    EXPECT_EQ(streaming.viewer().status().state, SubscriberState::finished);
  });
  viewer.join();
  return measured;
}

class SystemCalls : public testing::TestWithParam<LinkKind> {};

TEST_P(SystemCalls, AreNotMadeForMessagesByWhoSpins) {
  Measured measured = measure(GetParam());
  if (!measured.why_not.empty()) {
    GTEST_SKIP() << measured.why_not;
  }
  const auto take_out = [&](long number) {
    const auto node = measured.calls.extract(number);
    return node.empty() ? 0 : node.mapped();
  };
  EXPECT_LE(take_out(SYS_sched_yield), measured.empty_polls / 100 + 1) << "after every 256th empty poll";
  take_out(SYS_clock_gettime);  // on machines whose clock cannot be read without the kernel
  const std::uint64_t credits = take_out(SYS_sendmsg) + take_out(SYS_sendto);
  const std::uint64_t contended_locks = take_out(SYS_futex);
  if (GetParam() == LinkKind::tcp) {
    EXPECT_LE(credits, measured.messages) << "a credit message at most for each message";
    // Contended locks are not checked: this thread and the one that reads the socket share a mutex.
  } else {
    // Credits go through shared memory, and the source spins, too: nobody has to be woken, unless the source is away.
    // Then its session waits for the credits of what is under way. The lock is shared with the session's thread, which
    // takes it a few times a second.
    EXPECT_LE(credits + contended_locks, measured.messages / 1000 + measured.source_pauses * slots)
        << credits << " credits, " << contended_locks << " contended locks";
  }
  EXPECT_EQ(measured.calls, CallCounts()) << "{number, calls} for " << measured.messages << " messages";
}

TEST(SystemCallCounter, CountsEveryCallOfItsThreadAndNoOther) {
  SystemCallCounter counter;
  std::string why_not;
  CallCounts counted;
  std::thread thread([&] {
    why_not = counter.count_this_thread();
    char byte = 0;
    ::recv(-1, &byte, 1, 0);
    ::recv(-1, &byte, 1, 0);
    ::syscall(SYS_getppid);
    counted = counts_of(counter);
  });
  ::syscall(SYS_getpgid, 0);
  thread.join();
  if (!why_not.empty()) {
    GTEST_SKIP() << why_not;
  }
  EXPECT_EQ(counted, (CallCounts{{SYS_recvfrom, 2}, {SYS_getppid, 1}}));
}

INSTANTIATE_TEST_SUITE_P(Links, SystemCalls, testing::Values(LinkKind::local, LinkKind::tcp),
                         [](const auto& link) { return std::string(name(link.param)); });

}  // namespace
}  // namespace framewire::test
