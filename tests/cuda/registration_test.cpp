// By which way an RDMA device reaches a GPU's memory, and what it is told where none is left.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "memory/cuda/cuda_memory.hpp"
#include "tests/cuda/dma_buf_verbs.hpp"
#include "tests/cuda/gpu_block.hpp"
#include "tests/cuda/stand_in.hpp"

namespace framewire {
namespace {

namespace stand_in = test::cuda_stand_in;
namespace verbs = test::dma_buf_verbs;

using test::ring_access;
using test::unit_bytes;

class GpuRegistration : public test::GpuBlockTest {};

const std::string cannot_reach =
    "cannot reach the memory of the GPU Stand-in 0 with the RDMA device rxe0: no data-direct (the RDMA device is not "
    "of "
    "mlx5), no DMA-BUF (";

TEST_F(GpuRegistration, IsByDmaBuf) {
  load_peer_memory();
  verbs::pin_addresses(true);
  ASSERT_EQ(register_block(), "");
  const std::uint64_t address = dynamic_cast<const CudaBlock&>(*block_).address();
  EXPECT_EQ(region_->reached, "the memory of the GPU Stand-in 0 by DMA-BUF");
  EXPECT_EQ(region_->address, address);
  ASSERT_EQ(verbs::registered().size(), 1U);
  const verbs::Registered registered = verbs::registered().front();
  EXPECT_TRUE(registered.is_by_dma_buf);
  EXPECT_FALSE(registered.is_by_data_direct);
  EXPECT_EQ(registered.iova, address);
  EXPECT_EQ(registered.size_bytes, block_->size_bytes());
  EXPECT_EQ(registered.access, ring_access);
  EXPECT_EQ(verbs::living(), 1U);
  EXPECT_FALSE(region_->needs_read_back);
  EXPECT_EQ(region_->access.note(), " access=dma-buf (no data-direct: the RDMA device is not of mlx5)");
}

TEST_F(GpuRegistration, KeepsTheOrderOfWrites) {
  ASSERT_EQ(register_block(ring_access | static_cast<unsigned>(IBV_ACCESS_RELAXED_ORDERING)), "");
  EXPECT_EQ(verbs::registered().front().access, ring_access);
}

TEST_F(GpuRegistration, OfAPoolAllowsReadsAlone) {
  ASSERT_EQ(register_block(static_cast<unsigned>(IBV_ACCESS_REMOTE_READ)), "");
  EXPECT_EQ(verbs::registered().front().access, static_cast<unsigned>(IBV_ACCESS_REMOTE_READ));
}

TEST_F(GpuRegistration, IsByTheAddressWhereTheKernelCanPinIt) {
  verbs::refuse_dma_buf(EOPNOTSUPP);
  verbs::pin_addresses(true);
  load_peer_memory();
  ASSERT_EQ(register_block(), "");
  EXPECT_EQ(region_->reached, "the memory of the GPU Stand-in 0 by its address");
  EXPECT_FALSE(verbs::registered().front().is_by_dma_buf);
  EXPECT_EQ(region_->address, dynamic_cast<const CudaBlock&>(*block_).address());
  EXPECT_EQ(
      region_->access.note(),
      " access=peer-memory (no data-direct: the RDMA device is not of mlx5; no DMA-BUF: its driver: Operation not "
      "supported)");
}

TEST_F(GpuRegistration, IsNotByAnAddressThatNobodyPins) {
  verbs::refuse_dma_buf(EOPNOTSUPP);
  verbs::pin_addresses(true);
  EXPECT_EQ(
      register_block(),
      cannot_reach + "its driver: Operation not supported), and nvidia-peermem is not loaded; take --memory host");
  verbs::refuse_dma_buf(EPROTONOSUPPORT);
  EXPECT_EQ(register_block(),
            cannot_reach + "its driver: Protocol not supported), and nvidia-peermem is not loaded; take --memory host");
}

TEST_F(GpuRegistration, SaysThatTheGpuExportsNothing) {
  stand_in::set_attribute(124, 0);
  EXPECT_EQ(register_block(),
            cannot_reach + "the GPU exports none), and nvidia-peermem is not loaded; take --memory host");
}

TEST_F(GpuRegistration, SaysWhyTheExportFails) {
  fault_of_next_export_ = 801;
  EXPECT_EQ(register_block(), cannot_reach +
                                  "cuMemGetHandleForAddressRange: CUDA_ERROR_NOT_SUPPORTED), and nvidia-peermem is "
                                  "not loaded; take --memory host");
  EXPECT_EQ(register_block(), cannot_reach +
                                  "cuMemGetHandleForAddressRange: CUDA_ERROR_NOT_SUPPORTED), and nvidia-peermem is "
                                  "not loaded; take --memory host");
  load_peer_memory();
  verbs::pin_addresses(true);
  EXPECT_EQ(register_block(), "") << "the next way works";
}

TEST_F(GpuRegistration, SaysThatBothWaysFail) {
  verbs::refuse_dma_buf(EINVAL);
  load_peer_memory();
  EXPECT_EQ(register_block(),
            cannot_reach +
                "its driver: Invalid argument), and its address cannot be pinned: Bad address; take --memory host");
}

TEST_F(GpuRegistration, SaysThatTheWindowOfTheGpuMayBeTooSmall) {
  const std::string advice =
      "its BAR1 window may be too small for 2 MB; take fewer slots (send --viewers 1) or --memory host";
  verbs::refuse_dma_buf(ENOMEM);
  EXPECT_EQ(register_block(),
            cannot_reach + "its driver: Cannot allocate memory), and nvidia-peermem is not loaded; " + advice);
  load_peer_memory();
  EXPECT_EQ(
      register_block(),
      cannot_reach + "its driver: Cannot allocate memory), and its address cannot be pinned: Bad address; " + advice);
  verbs::refuse_dma_buf(EOPNOTSUPP);
  verbs::refuse_addresses(ENOMEM);
  EXPECT_EQ(register_block(), cannot_reach +
                                  "its driver: Operation not supported), and its address cannot be pinned: Cannot "
                                  "allocate memory; " +
                                  advice);
}

/// Memory that was not made for RDMA is not exported either.
TEST_F(GpuRegistration, NeedsAGpuThatMakesMemoryForIt) {
  stand_in::set_attribute(110, 0);
  load_peer_memory();
  EXPECT_EQ(register_block(), cannot_reach +
                                  "cuMemGetHandleForAddressRange: CUDA_ERROR_NOT_SUPPORTED), and nvidia-peermem "
                                  "cannot pin this GPU's memory; take --memory host");
}

TEST_F(GpuRegistration, NeedsTheApiOfPeerMemoryOnlyForThat) {
  stand_in::set_attribute(116, 0);
  EXPECT_EQ(register_block(), "");
  verbs::refuse_dma_buf(EOPNOTSUPP);
  load_peer_memory();
  EXPECT_EQ(register_block(), cannot_reach +
                                  "its driver: Operation not supported), and nvidia-peermem cannot pin this GPU's "
                                  "memory; take --memory host");
}

/// Such memory is attached to the processor by C2C: CUDA's order and flush say nothing of it.
TEST_F(GpuRegistration, IsReadBackWhereTheGpuSharesPageTables) {
  stand_in::set_attribute(100, 1);
  ASSERT_EQ(register_block(), "");
  EXPECT_TRUE(region_->needs_read_back);
  EXPECT_EQ(verbs::registered().front().access, ring_access | static_cast<unsigned>(IBV_ACCESS_REMOTE_READ));
  verbs::refuse_dma_buf(EOPNOTSUPP);
  verbs::pin_addresses(true);
  load_peer_memory();
  ASSERT_EQ(register_block(), "");
  EXPECT_TRUE(region_->needs_read_back) << "also by its address";
  EXPECT_EQ(verbs::registered().back().access, ring_access | static_cast<unsigned>(IBV_ACCESS_REMOTE_READ));
}

TEST_F(GpuRegistration, IsReadBackWhereTheGpuNeitherOrdersNorFlushes) {
  stand_in::set_attribute(118, 0);
  ASSERT_EQ(register_block(), "");
  EXPECT_FALSE(region_->needs_read_back) << "CUDA flushes";
  stand_in::set_attribute(117, 0);
  ASSERT_EQ(register_block(), "");
  EXPECT_TRUE(region_->needs_read_back);
}

/// The stand-in is as strict as the driver.
TEST_F(GpuRegistration, OfAMisalignedRangeIsRefused) {
  ASSERT_EQ(register_block(), "");
  const std::uint64_t address = dynamic_cast<const CudaBlock&>(*block_).address();
  const CurrentContext current(*memory_->device());
  const auto fault = [](std::uint64_t from, std::uint64_t bytes, int type) {
    int descriptor = -1;
    return cuda::functions().cuMemGetHandleForAddressRange(&descriptor, from, bytes, type, 0);
  };
  constexpr auto invalid_value = cuda::Result{1};
  EXPECT_EQ(fault(address + 1, unit_bytes - 1, 1), invalid_value);
  EXPECT_EQ(fault(address, unit_bytes - 1, 1), invalid_value);
  EXPECT_EQ(fault(address, unit_bytes, 2), invalid_value);
  EXPECT_EQ(fault(address, 2 * unit_bytes, 1), invalid_value);
}

}  // namespace
}  // namespace framewire
