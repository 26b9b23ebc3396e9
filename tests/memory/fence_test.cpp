#include "memory/fence.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

#include "memory/fence_wait.hpp"

namespace framewire {
namespace {

TEST(Fence, KeepsItsFirstState) {
  Fence fence;
  int told = 0;
  fence.when_finished([&](FenceState state) { told += state == FenceState::done ? 1 : 100; });
  fence.finish(FenceState::done);
  fence.finish(FenceState::failed);
  EXPECT_EQ(fence.state(), FenceState::done);
  EXPECT_EQ(told, 1);
}

TEST(FenceWait, EndsWithTheFence) {
  for (const FenceState state : {FenceState::done, FenceState::failed}) {
    Fence fence;
    std::thread device([&] { fence.finish(state); });
    EXPECT_EQ(wait_until_finished(fence, INT64_MAX), state);
    device.join();
    EXPECT_EQ(wait_until_finished(fence, 0), state) << "it had ended before";
  }
}

TEST(FenceWait, IsGivenUp) {
  Fence fence;
  EXPECT_EQ(wait_until_finished(fence, 0), FenceState::pending);
  int asked = 0;
  EXPECT_EQ(wait_until_finished(fence, INT64_MAX, [&] { return ++asked == 2; }), FenceState::pending);
  EXPECT_EQ(asked, 2);
  fence.finish(FenceState::done);  // what the waits have left with the fence is still there
}

}  // namespace
}  // namespace framewire
