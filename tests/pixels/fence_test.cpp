#include "gl/fence.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "gl/offscreen_target.hpp"
#include "gl/readback.hpp"
#include "gl/staging_buffer.hpp"
#include "tests/base/substitute.hpp"
#include "tests/pixels/gl_test.hpp"

namespace framewire {
namespace {

using ClientWaitSync = decltype(glad_glClientWaitSync);
using FenceSync = decltype(glad_glFenceSync);
using ResetStatus = decltype(glad_glGetGraphicsResetStatus);

GLenum GLAD_API_PTR waits_in_vain(GLsync, GLbitfield, GLuint64) {
  return GL_WAIT_FAILED;
}
GLenum GLAD_API_PTR waits_too_long(GLsync, GLbitfield, GLuint64) {
  return GL_TIMEOUT_EXPIRED;
}
GLsync GLAD_API_PTR makes_no_fence(GLenum, GLbitfield) {
  return nullptr;
}
template <GLenum status>
GLenum GLAD_API_PTR says() {
  return status;
}

class FenceTest : public GlTest {
 protected:
  static std::int64_t soon_ns() { return monotonic_ns() + 10 * ns_per_s; }
};

TEST_F(FenceTest, IsReachedWhenTheGpuIsDone) {
  GlFence fence = GlFence::insert();
  EXPECT_EQ(fence.wait(soon_ns()), GpuWait::done);
  EXPECT_EQ(fence.poll(), GpuWait::done);
  EXPECT_EQ(GlFence().poll(), GpuWait::done);
}

TEST_F(FenceTest, AFailedWaitIsNotAReachedFence) {
  GlFence fence = GlFence::insert();
  {
    const test::Substitute<ClientWaitSync> lost(glad_glClientWaitSync, waits_in_vain);
    EXPECT_EQ(fence.poll(), GpuWait::failed);
  }
  EXPECT_EQ(fence.wait(soon_ns()), GpuWait::failed) << "it stays so";
  GlFence moved = std::move(fence);
  EXPECT_EQ(moved.poll(), GpuWait::failed);
  moved.reset();
  EXPECT_EQ(moved.poll(), GpuWait::done) << "an empty one";
}

TEST_F(FenceTest, AFenceThatCouldNotBeMadeHasFailed) {
  const test::Substitute<FenceSync> lost(glad_glFenceSync, makes_no_fence);
  EXPECT_EQ(GlFence::insert().poll(), GpuWait::failed);
}

TEST_F(FenceTest, ATimeoutIsNoFailure) {
  GlFence fence = GlFence::insert();
  {
    const test::Substitute<ClientWaitSync> slow(glad_glClientWaitSync, waits_too_long);
    EXPECT_EQ(fence.poll(), GpuWait::pending);
  }
  EXPECT_EQ(fence.wait(soon_ns()), GpuWait::done);
}

TEST_F(FenceTest, MemoryBehindAFailedFenceIsNotHandedOut) {
  StagingBuffer staging;
  for (int i = 0; i < 3; ++i) {
    ASSERT_FALSE(staging.claim(64, soon_ns()).empty());
    staging.release();
  }
  const test::Substitute<ClientWaitSync> lost(glad_glClientWaitSync, waits_in_vain);
  EXPECT_TRUE(staging.claim(64, soon_ns()).empty());
  EXPECT_EQ(staging.waited(), GpuWait::failed);
}

TEST_F(FenceTest, AReadbackBehindAFailedFenceNeverFinishes) {
  const OffscreenTarget target({8, 8});
  target.bind();
  Readback readback(8, 8);
  const auto block = HostBlock::create("lost readback", readback.size_bytes());
  readback.begin(block, 0, block->bytes());
  {
    const test::Substitute<ClientWaitSync> lost(glad_glClientWaitSync, waits_in_vain);
    EXPECT_FALSE(readback.finished());
  }
  EXPECT_TRUE(readback.has_failed());
  EXPECT_FALSE(readback.wait_finished(soon_ns())) << "its slot would be published with rubbish in it";
  EXPECT_EQ(readback.in_flight(), 1U);
}

TEST_F(FenceTest, ResetsAreToldApart) {
  EXPECT_FALSE(find_gl_loss());
  const auto told = [](ResetStatus status) {
    const test::Substitute<ResetStatus> lost(glad_glGetGraphicsResetStatus, status);
    return find_gl_loss().value_or("");
  };
  EXPECT_EQ(told(says<GL_GUILTY_CONTEXT_RESET>), "the GPU was reset, because of what this program drew");
  EXPECT_EQ(told(says<GL_INNOCENT_CONTEXT_RESET>), "the GPU was reset, because of what another program drew");
  EXPECT_EQ(told(says<GL_UNKNOWN_CONTEXT_RESET>), "the GPU was reset, or went away");
}

}  // namespace
}  // namespace framewire
