#include "base/file_descriptor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/wait.hpp"

namespace framewire {
namespace {

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

TEST(FileDescriptor, ClosesOnceAndMoves) {
  int raw = -1;
  {
    FileDescriptor first = make_eventfd();
    raw = first.get();
    FileDescriptor second = std::move(first);
    EXPECT_FALSE(first.valid());  // NOLINT(bugprone-use-after-move): a moved-from descriptor is empty
    EXPECT_EQ(second.get(), raw);
    FileDescriptor third = make_eventfd();
    const int replaced = third.get();
    third = std::move(second);
    EXPECT_FALSE(is_open(replaced));
    FileDescriptor& same = third;
    third = std::move(same);  // to itself
    EXPECT_TRUE(is_open(raw));
  }
  EXPECT_FALSE(is_open(raw));
}

TEST(Event, WakesUntilCleared) {
  const FileDescriptor event = make_eventfd();
  EXPECT_FALSE(wait_for(event.get(), POLLIN, monotonic_ns()));
  signal_eventfd(event.get());
  signal_eventfd(event.get());
  EXPECT_TRUE(wait_for(event.get(), POLLIN, monotonic_ns()));
  EXPECT_TRUE(clear_eventfd(event.get()));
  EXPECT_FALSE(clear_eventfd(event.get()));
}

TEST(Wait, LooksOnceWhenTheDeadlineHasPassed) {
  const FileDescriptor event = make_eventfd();
  signal_eventfd(event.get());
  EXPECT_TRUE(wait_for(event.get(), POLLIN, 0));
  EXPECT_TRUE(wait_for(event.get(), POLLIN, INT64_MAX));
}

}  // namespace
}  // namespace framewire
