#include "memory/cuda/work.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "tests/base/eventually.hpp"
#include "tests/cuda/stand_in.hpp"

namespace framewire {
namespace {

namespace stand_in = test::cuda_stand_in;
using test::eventually;

class CudaWorkTest : public testing::Test {
 protected:
  void SetUp() override {
    stand_in::reset();
    device_ = std::make_shared<const CudaDevice>(choose_cuda_device(cuda_devices(), ""));
  }
  void TearDown() override { stand_in::reset(); }

  static void nothing(cuda::Stream /*stream*/) {}

  std::shared_ptr<const CudaDevice> device_;
};

TEST_F(CudaWorkTest, EndsInTheOrderOfItsStream) {
  CudaWork work(device_);
  std::vector<std::shared_ptr<Fence>> fences;
  std::atomic<int> ended = 0;
  for (int i = 0; i < 20; ++i) {
    const auto fence = std::make_shared<Fence>();
    fence->when_finished([&ended, i](FenceState) { EXPECT_EQ(ended++, i); });
    work.start(nothing, fence, nullptr);
    fences.push_back(fence);
  }
  EXPECT_TRUE(eventually([&] { return ended == 20; }));
}

TEST_F(CudaWorkTest, IsStartedByManyThreads) {
  std::atomic<int> ended = 0;
  {
    CudaWork work(device_);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < 50; ++k) {
          const auto fence = std::make_shared<Fence>();
          fence->when_finished([&](FenceState state) { ended += state == FenceState::done ? 1 : 0; });
          work.start(nothing, fence, nullptr);
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }  // waits for the rest
  EXPECT_EQ(ended, 200);
}

/// What a fence's end starts is started on the thread that watches.
TEST_F(CudaWorkTest, MayBeStartedByTheEndOfOther) {
  CudaWork work(device_);
  const auto first = std::make_shared<Fence>();
  const auto second = std::make_shared<Fence>();
  first->when_finished([&](FenceState) { work.start(nothing, second, nullptr); });
  work.start(nothing, first, nullptr);
  EXPECT_TRUE(eventually([&] { return second->state() == FenceState::done; }));
}

TEST_F(CudaWorkTest, ThatHangsFailsAtTheEnd) {
  const auto fence = std::make_shared<Fence>();
  {
    CudaWork work(device_);
    stand_in::hold_work(true);
    work.start(nothing, fence, nullptr);
  }
  EXPECT_EQ(fence->state(), FenceState::failed);
}

/// What is pending fails after the destructor has begun, and only then starts other work.
TEST_F(CudaWorkTest, ThatIsStartedDuringTheEndIsFinishedToo) {
  const std::size_t objects_before = stand_in::objects();
  const auto kept = std::make_shared<int>();
  const auto first = std::make_shared<Fence>();
  const auto second = std::make_shared<Fence>();
  {
    CudaWork work(device_);
    stand_in::hold_work(true);
    first->when_finished([&](FenceState) { work.start(nothing, second, kept); });
    work.start(nothing, first, nullptr);
  }
  EXPECT_EQ(first->state(), FenceState::failed);
  EXPECT_EQ(second->state(), FenceState::failed);
  EXPECT_EQ(kept.use_count(), 1);
  EXPECT_EQ(stand_in::objects(), objects_before);
}

/// The GPU goes on with it, though the driver fails. A source that is told of the failure uses the memory again.
TEST_F(CudaWorkTest, OfWhichTheDriverDidNotTellFailsWhenItsStreamIsIdle) {
  const auto kept = std::make_shared<int>();
  const auto fence = std::make_shared<Fence>();
  CudaWork work(device_);
  stand_in::hold_work(true);
  stand_in::fail("cuEventQuery", 999);
  work.start(nothing, fence, kept);
  EXPECT_TRUE(eventually([&] { return stand_in::failures_to_come() == 0; }));
  EXPECT_EQ(fence->state(), FenceState::pending);
  EXPECT_EQ(kept.use_count(), 2);
  stand_in::hold_work(false);
  EXPECT_TRUE(eventually([&] { return fence->state() == FenceState::failed && kept.use_count() == 1; }));
}

TEST_F(CudaWorkTest, WhoseEndNobodyCanTellKeepsWhatItUses) {
  const auto kept = std::make_shared<int>();
  const auto fence = std::make_shared<Fence>();
  {
    CudaWork work(device_);
    stand_in::hold_work(true);
    stand_in::fail("cuEventQuery", 1);
    stand_in::fail("cuStreamQuery", 1);
    work.start(nothing, fence, kept);
    EXPECT_TRUE(eventually([&] { return fence->state() == FenceState::failed; }));
    EXPECT_EQ(kept.use_count(), 2);
    stand_in::hold_work(false);
  }
  EXPECT_EQ(kept.use_count(), 1);
}

/// What did not start as a whole may have started in part. It is told once the stream is idle.
TEST_F(CudaWorkTest, ThatDoesNotStartIsOverWhenThatIsTold) {
  CudaWork work(device_);
  stand_in::hold_work(true);
  const auto before = std::make_shared<Fence>();
  work.start(nothing, before, nullptr);
  std::atomic<bool> is_told = false;
  std::thread starter([&] {
    stand_in::fail("cuEventRecord", 1);
    EXPECT_THROW(work.start(nothing, std::make_shared<Fence>(), nullptr), Error);
    is_told = true;
  });
  const auto asked = [] { return stand_in::calls()["cuStreamQuery"] > 1; };
  EXPECT_TRUE(eventually([&] { return is_told || asked(); }));
  EXPECT_TRUE(asked()) << "it is asked until it is idle";
  stand_in::hold_work(false);
  starter.join();
  EXPECT_TRUE(eventually([&] { return before->state() == FenceState::done; }));
}

TEST_F(CudaWorkTest, ThatCannotStartLeavesItsFence) {
  CudaWork work(device_);
  const auto fence = std::make_shared<Fence>();
  EXPECT_THROW(work.start([](cuda::Stream) { throw Error::failed("no"); }, fence, nullptr), Error);
  EXPECT_EQ(fence->state(), FenceState::pending);
  for (const char* const function : {"cuEventCreate", "cuEventRecord", "cuCtxPushCurrent"}) {
    CudaWork other(device_);
    stand_in::fail(function, 999);
    EXPECT_THROW(other.start(nothing, fence, nullptr), Error) << function;
  }
  EXPECT_EQ(fence->state(), FenceState::pending);
  EXPECT_EQ(stand_in::contexts_on_this_thread(), 0U);
}

/// Also one that would be told again and again.
TEST_F(CudaWorkTest, ThatFailsOnceTellsNoLoss) {
  CudaWork work(device_);
  for (const char* const function : {"cuCtxPushCurrent", "cuEventCreate", "cuEventRecord"}) {
    stand_in::fail(function, 719);
    EXPECT_THROW(work.start(nothing, std::make_shared<Fence>(), nullptr), Error) << function;
  }
  stand_in::fail("cuEventQuery", 719);
  const auto fence = std::make_shared<Fence>();
  work.start(nothing, fence, nullptr);
  EXPECT_TRUE(eventually([&] { return fence->state() == FenceState::failed; }));
  EXPECT_EQ(work.loss(), cuda::Result::success);
}

TEST_F(CudaWorkTest, TellsALossThatItFindsWhenItStarts) {
  CudaWork work(device_);
  for (const int result : {214, 719}) {
    stand_in::lose_device(result);
    EXPECT_THROW(work.start(nothing, std::make_shared<Fence>(), nullptr), Error);
    EXPECT_EQ(work.loss(), cuda::Result{214}) << "the first one stays";
  }
  stand_in::lose_device(0);
}

TEST_F(CudaWorkTest, TellsALossBeforeItsFencesFail) {
  CudaWork work(device_);
  stand_in::hold_work(true);
  const auto fence = std::make_shared<Fence>();
  std::atomic<int> seen = 0;
  fence->when_finished([&](FenceState) { seen = static_cast<int>(work.loss()); });
  work.start(nothing, fence, nullptr);
  stand_in::lose_device(999);
  EXPECT_TRUE(eventually([&] { return seen != 0; }));
  EXPECT_EQ(seen, 999);
  stand_in::lose_device(0);
}

/// Whatever the driver is asked, the GPU may still have the memory for other work.
TEST_F(CudaWorkTest, ThatLacksMemoryTellsNoLoss) {
  CudaWork work(device_);
  for (const int result : {2, 201, 304, 600}) {
    stand_in::lose_device(result);
    EXPECT_THROW(work.start(nothing, std::make_shared<Fence>(), nullptr), Error) << result;
    EXPECT_EQ(work.loss(), cuda::Result::success) << result;
  }
  stand_in::lose_device(0);
}

}  // namespace
}  // namespace framewire
