// A viewer's ring in a GPU's memory, over a real RDMA device: how it is opened, tried, and seen.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "tests/cuda/dma_buf_verbs.hpp"
#include "tests/cuda/gpu_ring.hpp"
#include "tests/cuda/stand_in.hpp"

namespace framewire::test {
namespace {

namespace stand_in = cuda_stand_in;
namespace verbs = dma_buf_verbs;

class GpuRing : public GpuRingTest {};

TEST_P(GpuRing, IsARegistrationForWritesInADomainOfItsSession) {
  ASSERT_EQ(begin(), "");
  EXPECT_EQ(receiver_->note(), " ring=registration");
  const std::vector<verbs::Registered> registered = verbs::registered();
  ASSERT_EQ(registered.size(), 2U) << "the ring once, and the pool";
  EXPECT_TRUE(registered[0].is_by_dma_buf);
  EXPECT_EQ(registered[0].access, static_cast<unsigned>(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE))
      << "no window, and no relaxed ordering";
  EXPECT_EQ(registered[1].access, 0U) << "nobody but the device reads the pool";
  EXPECT_TRUE(sends_one(1));
  const auto pools_domain = domains_.protection_domain_of(session_domain_->context);
  EXPECT_NE(session_domain_, pools_domain.get());
}

TEST_P(GpuRing, IsFlushedForEachFrameWhereTheGpuNeedsIt) {
  stand_in::set_attribute(118, 0);
  ASSERT_EQ(begin(), "");
  EXPECT_EQ(stand_in::flushes(), 1U) << "the trial";
  EXPECT_TRUE(sends_one(1));
  EXPECT_TRUE(sends_one(2));
  EXPECT_EQ(stand_in::flushes(), 3U);
}

TEST_P(GpuRing, IsNotFlushedWhereTheGpuSeesAllByItself) {
  ASSERT_EQ(begin(), "");
  EXPECT_TRUE(sends_one(1));
  EXPECT_EQ(stand_in::flushes(), 0U);
}

TEST_P(GpuRing, EndsItsLinkWhereAFlushFails) {
  stand_in::set_attribute(118, 0);
  ASSERT_EQ(begin(), "");
  EXPECT_TRUE(sends_one(1));
  stand_in::fail("cuFlushGPUDirectRDMAWrites", 999);
  EXPECT_FALSE(sends_one(2));
  EXPECT_EQ(receiver_->state(), LinkState::lost);
  EXPECT_EQ(receiver_->fault(),
            "what the sender wrote to the memory of the GPU Stand-in 0 by DMA-BUF cannot be seen there: "
            "cuFlushGPUDirectRDMAWrites: CUDA_ERROR_UNKNOWN");
}

TEST_P(GpuRing, IsRefusedWhereTheFlushOfItsTrialFails) {
  stand_in::set_attribute(118, 0);
  stand_in::fail("cuFlushGPUDirectRDMAWrites", 999);
  const std::string fault = begin();
  EXPECT_EQ(fault, "what the RDMA device " + device_ +
                       " wrote to the memory of the GPU Stand-in 0 by DMA-BUF cannot be seen there: "
                       "cuFlushGPUDirectRDMAWrites: CUDA_ERROR_UNKNOWN");
  EXPECT_EQ(verbs::registered().size(), 1U) << "the next way would need it, too";
}

TEST_P(GpuRing, IsRefusedWhereWhatIsWrittenDoesNotArrive) {
  verbs::lead_astray(true);
  const std::string fault = begin();
  EXPECT_EQ(fault, "cannot reach the memory of the GPU Stand-in 0 with the RDMA device " + device_ +
                       ": no data-direct (the RDMA device is not of mlx5), no DMA-BUF (what a trial wrote did not "
                       "arrive), and nvidia-peermem is not loaded; take --memory host");
}

TEST_P(GpuRing, IsRefusedWhereItCannotBeReadBack) {
  stand_in::fail("cuMemcpyDtoHAsync", 999);
  EXPECT_EQ(begin(),
            "a trial of the memory of the GPU Stand-in 0 by DMA-BUF could not be read: cuMemcpyDtoHAsync: "
            "CUDA_ERROR_UNKNOWN");
  EXPECT_EQ(verbs::registered().size(), 1U) << "no other way leads past a GPU that fails";
}

TEST_P(GpuRing, IsRefusedWhereNoWayLeadsThere) {
  verbs::refuse_dma_buf(EOPNOTSUPP);
  const std::string fault = begin();
  EXPECT_EQ(fault, "cannot reach the memory of the GPU Stand-in 0 with the RDMA device " + device_ +
                       ": no data-direct (the RDMA device is not of mlx5), no DMA-BUF (its driver: Operation not "
                       "supported), and nvidia-peermem is not loaded; take "
                       "--memory host");
}

TEST_P(GpuRing, MayBeReachedByItsAddress) {
  verbs::refuse_dma_buf(EOPNOTSUPP);
  verbs::pin_addresses(true);
  load_peer_memory();
  ASSERT_EQ(begin(), "");
  EXPECT_FALSE(verbs::registered().front().is_by_dma_buf);
  EXPECT_TRUE(sends_one(1));
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GpuRing);
INSTANTIATE_TEST_SUITE_P(Device, GpuRing, testing::ValuesIn(device_here()), [](const auto& one) { return one.param; });

}  // namespace
}  // namespace framewire::test
