// A spinning viewer makes no system call for frames: neither when it receives one, nor when it polls and finds none.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <semaphore>
#include <string>

#include "tests/data_path/streaming.hpp"

namespace {

thread_local std::uint64_t questions = 0;  // this thread's system calls on sockets

}  // namespace

// The program and all its libraries call these functions instead of glibc's.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's parameter names are reserved
extern "C" {

ssize_t recv(int fd, void* into, std::size_t bytes, int flags) {
  ++questions;
  return ::syscall(SYS_recvfrom, fd, into, bytes, flags, nullptr, nullptr);
}

int getsockopt(int fd, int level, int option, void* value, socklen_t* size) noexcept {
  ++questions;
  return static_cast<int>(::syscall(SYS_getsockopt, fd, level, option, value, size));
}
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)

namespace framewire::test {
namespace {

class SystemCalls : public testing::TestWithParam<LinkKind> {};

TEST_P(SystemCalls, AreNotMadeForMessagesByWhoSpins) {
  constexpr std::uint64_t first = 100;
  constexpr std::uint64_t count = 20'000;
  std::binary_semaphore may_end{0};
  Streaming streaming({.link = GetParam(), .slot_bytes = 64, .slots = 16, .wait = WaitMode::spin},
                      [&](std::span<std::byte>, std::uint64_t sequence) -> std::optional<std::uint64_t> {
                        if (sequence == count) {
                          may_end.acquire();
                          return std::nullopt;
                        }
                        return 64;
                      });
  std::uint64_t before = 0;
  for (std::uint64_t sequence = 0; sequence < count; ++sequence) {
    if (!streaming.receive()) {
      ADD_FAILURE() << "message " << sequence << ": " << streaming.viewer().status().message;
      break;
    }
    before = sequence < first ? questions : before;
  }
  EXPECT_EQ(questions - before, 0U);
  may_end.release();
  EXPECT_FALSE(streaming.receive()) << "more than was sent";
  EXPECT_EQ(streaming.viewer().status().state, SubscriberState::finished);
}

TEST(SystemCallsThemselves, AreCounted) {
  const std::uint64_t before = questions;
  char byte = 0;
  EXPECT_LT(::recv(-1, &byte, 1, 0), 0);
  EXPECT_EQ(questions - before, 1U);
}

INSTANTIATE_TEST_SUITE_P(Links, SystemCalls, testing::Values(LinkKind::local, LinkKind::tcp),
                         [](const auto& link) { return std::string(name(link.param)); });

}  // namespace
}  // namespace framewire::test
