// Signals that ask a program to stop.
#include "command/interruption.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>

#include "base/clock.hpp"
#include "base/wait.hpp"

namespace framewire {
namespace {

/// The thread that takes signals may not have run yet.
TEST(Interruption, ASignalHasComeAtOnce) {
  Interruption interruption;
  EXPECT_FALSE(interruption.has_come());
  ASSERT_EQ(::kill(::getpid(), SIGINT), 0);
  EXPECT_TRUE(interruption.has_come());
  ASSERT_TRUE(wait_for(interruption.descriptor(), POLLIN, INT64_MAX));
  EXPECT_TRUE(interruption.is_requested());
  EXPECT_TRUE(interruption.has_come()) << "it has been taken meanwhile";
}

TEST(Interruption, ARequestHasComeWithoutASignal) {
  Interruption interruption;
  interruption.request();
  EXPECT_TRUE(interruption.has_come());
}

}  // namespace
}  // namespace framewire
