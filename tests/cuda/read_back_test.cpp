// A viewer's ring in a GPU's memory that sees what is written there only after the RDMA device has read from there.
#include <gtest/gtest.h>

#include <poll.h>

#include <cerrno>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/wait.hpp"
#include "tests/cuda/delayed_writes.hpp"
#include "tests/cuda/dma_buf_verbs.hpp"
#include "tests/cuda/gpu_ring.hpp"
#include "tests/cuda/stand_in.hpp"

namespace framewire::test {
namespace {

namespace stand_in = cuda_stand_in;
namespace verbs = dma_buf_verbs;

/// By data-direct.
class ReadBackRing : public GpuRingTest {
 protected:
  void SetUp() override {
    GpuRingTest::SetUp();
    stand_in::set_driver_version(12080);
    verbs::offer_data_direct();
  }

  static constexpr const char* memory = "the memory of the GPU Stand-in 0 by data-direct";
};

TEST_P(ReadBackRing, ShowsEachFrameWhole) {
  ASSERT_EQ(begin(), "");
  const std::vector<verbs::Registered> registered = verbs::registered();
  ASSERT_EQ(registered.size(), 2U) << "the ring and the pool";
  EXPECT_TRUE(registered[0].is_by_data_direct);
  EXPECT_TRUE(registered[1].is_by_data_direct);
  EXPECT_EQ(registered[1].access, 0U) << "nobody but the device reads the pool";
  EXPECT_EQ(delayed_writes::reads(), 1U) << "the trial";
  for (std::uint64_t sequence = 1; sequence <= 10; ++sequence) {
    EXPECT_TRUE(sends_one(sequence)) << sequence;
  }
  EXPECT_EQ(delayed_writes::reads(), 11U);
  EXPECT_EQ(stand_in::flushes(), 0U) << "CUDA's flush says nothing of this way";
}

/// What the tests above and the contract's stand for: the stand-in notices.
TEST_P(ReadBackRing, WouldBeTornWithoutReading) {
  ASSERT_EQ(begin(), "");
  EXPECT_TRUE(sends_one(1));
  delayed_writes::show_nothing(true);
  EXPECT_FALSE(sends_one(2)) << "the frame is torn";
  EXPECT_EQ(receiver_->state(), LinkState::open);
}

TEST_P(ReadBackRing, GoesByDmaBufWhereReadingShowsNothing) {
  delayed_writes::show_nothing(true);
  ASSERT_EQ(begin(), "");
  const std::vector<verbs::Registered> registered = verbs::registered();
  ASSERT_EQ(registered.size(), 3U) << "the ring twice, and the pool";
  EXPECT_TRUE(registered[0].is_by_data_direct);
  EXPECT_TRUE(registered[1].is_by_dma_buf);
  EXPECT_FALSE(registered[1].is_by_data_direct);
  EXPECT_EQ(registered[1].access, static_cast<unsigned>(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE))
      << "nothing is read back";
  EXPECT_EQ(verbs::most_living(), 2U) << "the ring once at a time, and the pool";
  EXPECT_EQ(receiver_->access_to(*memory_).note(),
            " access=dma-buf (no data-direct: what a trial wrote did not arrive)");
  for (std::uint64_t sequence = 1; sequence <= 10; ++sequence) {
    EXPECT_TRUE(sends_one(sequence)) << sequence;
  }
  EXPECT_EQ(delayed_writes::reads(), 1U) << "the trial";
}

/// A trial may take seconds, which a stream that changes its format must not lose each time.
TEST_P(ReadBackRing, DoesNotTryAgainWhatDidNotWork) {
  delayed_writes::show_nothing(true);
  ASSERT_EQ(begin(), "");
  EXPECT_TRUE(sends_one(1));
  send_of_next_epoch(2);
  const std::vector<verbs::Registered> registered = verbs::registered();
  ASSERT_EQ(registered.size(), 5U) << "another ring, once, and another pool";
  EXPECT_FALSE(registered[3].is_by_data_direct);
  EXPECT_EQ(delayed_writes::reads(), 1U);
  EXPECT_EQ(receiver_->access_to(*memory_).note(),
            " access=dma-buf (no data-direct: what a trial wrote did not arrive)");
}

TEST_P(ReadBackRing, GoesByDmaBufWhereReadingFails) {
  delayed_writes::fail(IBV_WC_REM_ACCESS_ERR);
  ASSERT_EQ(begin(), "");
  EXPECT_EQ(receiver_->access_to(*memory_).note(), " access=dma-buf (no data-direct: a trial could not read back)");
  EXPECT_TRUE(sends_one(1));
}

TEST_P(ReadBackRing, GoesByDmaBufWhereReadingDoesNotEnd) {
  delayed_writes::hold(true);
  ASSERT_EQ(begin(), "");
  EXPECT_EQ(receiver_->access_to(*memory_).note(), " access=dma-buf (no data-direct: a trial could not read back)");
  EXPECT_TRUE(sends_one(1));
}

TEST_P(ReadBackRing, GoesByDmaBufWhereWritingFails) {
  delayed_writes::refuse_writes(ENOMEM);
  ASSERT_EQ(begin(), "");
  EXPECT_EQ(receiver_->access_to(*memory_).note(), " access=dma-buf (no data-direct: a trial could not write)");
  EXPECT_TRUE(sends_one(1));
}

TEST_P(ReadBackRing, GoesByItsAddressWhereNothingArrivesOtherwise) {
  delayed_writes::show_nothing(true);
  verbs::lead_astray(true);
  verbs::pin_addresses(true);
  load_peer_memory();
  ASSERT_EQ(begin(), "");
  EXPECT_EQ(receiver_->access_to(*memory_).note(),
            " access=peer-memory (no data-direct: what a trial wrote did not arrive; no DMA-BUF: what a trial wrote "
            "did not arrive)");
  EXPECT_TRUE(sends_one(1));
}

TEST_P(ReadBackRing, IsRefusedWhereNothingArrivesByAnyWay) {
  delayed_writes::show_nothing(true);
  verbs::lead_astray(true);
  verbs::pin_addresses(true);
  verbs::lead_addresses_astray(true);
  load_peer_memory();
  const std::string fault = begin();
  EXPECT_EQ(fault, "cannot reach the memory of the GPU Stand-in 0 with the RDMA device " + device_ +
                       ": no data-direct (what a trial wrote did not arrive), no DMA-BUF (what a trial wrote did not "
                       "arrive), and by its address what a trial wrote did not arrive; take --memory host");
  EXPECT_EQ(verbs::registered().size(), 3U);
  EXPECT_EQ(verbs::most_living(), 1U) << "each ends before the next one begins";
  EXPECT_EQ(verbs::living(), 0U);
}

/// No other way leads past that.
TEST_P(ReadBackRing, IsRefusedAtOnceWhereTheGpuFails) {
  constexpr int uncorrectable = 214;
  const std::string why =
      std::string("a trial of ") + memory +
      " could not be read: cuMemcpyDtoHAsync: uncorrectable ECC error encountered (CUDA_ERROR_ECC_UNCORRECTABLE)";
  stand_in::fail("cuMemcpyDtoHAsync", uncorrectable);
  EXPECT_EQ(begin(), why);
  EXPECT_EQ(verbs::registered().size(), 1U);
  delayed_writes::fail(IBV_WC_REM_ACCESS_ERR);
  stand_in::fail("cuMemcpyDtoHAsync", uncorrectable);
  EXPECT_EQ(begin(), why) << "the RDMA device fails because of it";
  EXPECT_EQ(verbs::registered().size(), 2U);
}

TEST_P(ReadBackRing, MayBeInterruptedBetweenTwoTrials) {
  delayed_writes::show_nothing(true);
  stop_check_ = [] { return delayed_writes::reads() > 0; };
  EXPECT_EQ(begin(), std::string("interrupted during a trial of ") + memory);
  EXPECT_EQ(verbs::registered().size(), 1U);
}

/// Its end is noticed: no way is closed because of it.
TEST_P(ReadBackRing, EndsWhereTheSenderLeavesDuringATrial) {
  delayed_writes::show_nothing(true);
  stop_check_ = [this] {
    if (sender_ && !verbs::registered().empty()) {
      sender_.reset();
      EXPECT_TRUE(wait_for(receiver_->maintenance_descriptor(), POLLIN, monotonic_ns() + timeout_ns));
    }
    return false;
  };
  status_of_fault_ = ExitStatus::lost_peer;
  const std::string fault = begin();
  EXPECT_EQ(fault, receiver_->fault());
  EXPECT_EQ(receiver_->state(), LinkState::closed);
  EXPECT_EQ(verbs::registered().size(), 1U);
}

TEST_P(ReadBackRing, EndsItsLinkWhereReadingFails) {
  ASSERT_EQ(begin(), "");
  EXPECT_TRUE(sends_one(1));
  delayed_writes::fail(IBV_WC_REM_ACCESS_ERR);
  EXPECT_FALSE(sends_one(2));
  EXPECT_EQ(receiver_->state(), LinkState::lost);
  EXPECT_EQ(receiver_->fault(), std::string("what the sender wrote to ") + memory +
                                    " cannot be seen there: the RDMA device could not read it back: remote access "
                                    "error");
}

TEST_P(ReadBackRing, EndsItsLinkWhereReadingIsRefused) {
  ASSERT_EQ(begin(), "");
  delayed_writes::refuse(ENOMEM);
  EXPECT_FALSE(sends_one(1));
  EXPECT_EQ(receiver_->state(), LinkState::lost);
  EXPECT_EQ(receiver_->fault(), std::string("what the sender wrote to ") + memory +
                                    " cannot be seen there: the RDMA device could not read it back: the device took no "
                                    "request");
}

/// Also if the program only waits: maintain() notices.
TEST_P(ReadBackRing, EndsItsLinkWhereReadingDoesNotEnd) {
  ASSERT_EQ(begin(), "");
  delayed_writes::hold(true);
  send(1);
  EXPECT_TRUE(eventually([&] { return delayed_writes::reads() == 2 || receiver_->poll().has_value(); }));
  EXPECT_FALSE(receiver_->poll()) << "the frame is not there yet";
  EXPECT_EQ(receiver_->state(), LinkState::open);
  EXPECT_TRUE(eventually([&] {
    receiver_->maintain();
    return receiver_->state() != LinkState::open;
  }));
  EXPECT_EQ(receiver_->fault(), std::string("what the sender wrote to ") + memory +
                                    " cannot be seen there: the RDMA device could not read it back: no answer within "
                                    "2 s");
  EXPECT_FALSE(receiver_->poll()) << "and it never will be";
}

/// Who sleeps until there is a frame is woken when it can be seen.
TEST_P(ReadBackRing, WakesWhoWaitsForAFrame) {
  ASSERT_EQ(begin(), "");
  for (std::uint64_t sequence = 1; sequence <= 20; ++sequence) {
    send(sequence);
    std::optional<IncomingFrame> frame;
    while (!(frame = receiver_->poll()) && receiver_->state() == LinkState::open) {
      if (receiver_->arm()) {
        constexpr std::int64_t longest_ns = 20 * ns_per_s;
        ASSERT_TRUE(wait_for(receiver_->descriptor(), POLLIN, monotonic_ns() + longest_ns)) << sequence;
      }
    }
    ASSERT_TRUE(frame) << receiver_->fault();
    EXPECT_TRUE(is_whole(*frame, sequence)) << sequence;
    receiver_->return_credit(frame->header);
  }
}

/// Nobody polls again once the link has ended and nothing is there.
TEST_P(ReadBackRing, GivesTheLastFramesOfASenderThatLeaves) {
  ASSERT_EQ(begin(), "");
  delayed_writes::end_late(100);
  send(1);
  send(2);
  EXPECT_TRUE(eventually([&] {
    release_sent();
    return frames_left_ == 2;
  }));
  sender_.reset();
  EXPECT_TRUE(eventually([&] {
    receiver_->maintain();
    return receiver_->state() != LinkState::open;
  }));
  for (std::uint64_t sequence = 1; sequence <= 2; ++sequence) {
    const auto frame = receiver_->poll();
    ASSERT_TRUE(frame) << sequence;
    EXPECT_TRUE(is_whole(*frame, sequence));
  }
  EXPECT_FALSE(receiver_->poll());
}

/// A READ names the ring, whose memory goes with the first frame of the next format.
TEST_P(ReadBackRing, MayBeLeftWhileItIsRead) {
  ASSERT_EQ(begin(), "");
  delayed_writes::end_late(100);
  send(1);
  send_of_next_epoch(2);
  std::uint64_t whole = 0;
  EXPECT_TRUE(eventually([&] {
    if (const auto frame = receiver_->poll()) {
      EXPECT_EQ(frame->header.epoch, whole + 1);
      whole += is_whole(*frame, frame->header.sequence) ? 1U : 0U;
      receiver_->return_credit(frame->header);
    }
    return whole == 2 || receiver_->state() != LinkState::open;
  })) << receiver_->fault();
  EXPECT_EQ(whole, 2U) << receiver_->fault();
}

/// A GPU on C2C is reached by a DMA-BUF, too, and CUDA's flush would do nothing.
TEST_P(ReadBackRing, IsReadByAnyWayWhereTheGpuSharesPageTables) {
  stand_in::set_attribute(100, 1);
  verbs::set_is_mlx5(false);
  verbs::delay_writes(true);
  ASSERT_EQ(begin(), "");
  EXPECT_FALSE(verbs::registered().front().is_by_data_direct);
  EXPECT_TRUE(sends_one(1));
  EXPECT_EQ(delayed_writes::reads(), 2U);
}

TEST_P(ReadBackRing, IsReadWhereTheGpuNeitherOrdersNorFlushes) {
  stand_in::set_attribute(118, 0);
  stand_in::set_attribute(117, 0);
  verbs::set_is_mlx5(false);
  verbs::delay_writes(true);
  ASSERT_EQ(begin(), "");
  EXPECT_TRUE(sends_one(1));
  EXPECT_EQ(delayed_writes::reads(), 2U);
  EXPECT_EQ(stand_in::flushes(), 0U);
}

TEST_P(ReadBackRing, SaysByWhichWayItsFramesCome) {
  ASSERT_EQ(begin(), "");
  EXPECT_EQ(receiver_->access_to(*memory_).note(), " access=data-direct");
  EXPECT_EQ(sender_->access_to(*memory_).note(), " access=data-direct");
  EXPECT_EQ(receiver_->access_to(host_memory()).note(), "");
  verbs::refuse_data_direct(EINVAL);
  EXPECT_EQ(receiver_->access_to(*memory_).note(), " access=data-direct") << "so it is registered";
  EXPECT_EQ(sender_->access_to(*memory_).note(), " access=data-direct");
  send_of_next_epoch(1);
  EXPECT_EQ(receiver_->access_to(*memory_).note(), " access=dma-buf (no data-direct: its driver: Invalid argument)");
  EXPECT_EQ(sender_->access_to(*memory_).note(), " access=dma-buf (no data-direct: its driver: Invalid argument)");
  EXPECT_EQ(receiver_->access_to(host_memory()).note(), "");
}

TEST_P(ReadBackRing, SaysBeforeItsFirstFormatByWhichWayFramesWouldCome) {
  connect();
  EXPECT_EQ(receiver_->access_to(*memory_).note(), " access=data-direct");
  EXPECT_EQ(sender_->access_to(*memory_).note(), " access=data-direct");
  EXPECT_EQ(receiver_->access_to(host_memory()).note(), "");
  verbs::refuse_data_direct(EINVAL);
  verbs::refuse_dma_buf(EOPNOTSUPP);
  EXPECT_EQ(receiver_->access_to(*memory_).note(), " access=data-direct") << "who takes() such memory stays so";
  EXPECT_TRUE(receiver_->takes(*memory_));
}

TEST_P(ReadBackRing, TakesHostMemoryOnlyWhereATrialFindsNoWay) {
  verbs::refuse_data_direct(EINVAL);
  verbs::refuse_dma_buf(EOPNOTSUPP);
  connect();
  EXPECT_EQ(receiver_->access_to(*memory_).note(),
            " access=host (no data-direct: its driver: Invalid argument; no DMA-BUF: its driver: Operation not "
            "supported; no peer memory: nvidia-peermem is not loaded)");
  EXPECT_FALSE(receiver_->takes(*memory_));
  EXPECT_TRUE(receiver_->takes(host_memory()));
  EXPECT_TRUE(sender_->takes(*memory_)) << "it has not tried yet";
  EXPECT_TRUE(sender_->access_to(*memory_).is_by_copies());
  EXPECT_FALSE(sender_->takes(*memory_));
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ReadBackRing);
INSTANTIATE_TEST_SUITE_P(Device, ReadBackRing, testing::ValuesIn(device_here()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace framewire::test
