#include "memory/fence.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace framewire
