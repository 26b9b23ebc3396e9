// When an RDMA device registers a GPU's memory for data-direct, and which way it takes where something is missing.
#include "transport/rdma/data_direct.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "tests/cuda/dma_buf_verbs.hpp"
#include "tests/cuda/gpu_block.hpp"
#include "tests/cuda/stand_in.hpp"

namespace framewire {
namespace {

namespace stand_in = test::cuda_stand_in;
namespace verbs = test::dma_buf_verbs;

using test::ring_access;

class GpuDataDirect : public test::GpuBlockTest {
 protected:
  void SetUp() override {
    GpuBlockTest::SetUp();
    stand_in::set_driver_version(12080);
    verbs::offer_data_direct();
  }

  /// Why the block is registered as a DMA-BUF now, as the start line says it.
  std::string why_dma_buf() {
    EXPECT_EQ(register_block(), "");
    EXPECT_FALSE(verbs::registered().back().is_by_data_direct);
    EXPECT_TRUE(verbs::registered().back().is_by_dma_buf);
    EXPECT_EQ(region_->reached, "the memory of the GPU Stand-in 0 by DMA-BUF");
    EXPECT_EQ(region_->access.way, "dma-buf");
    EXPECT_FALSE(region_->needs_read_back);
    return region_->access.passed_over;
  }
};

TEST_F(GpuDataDirect, IsTakenWhereItIsOffered) {
  load_peer_memory();
  verbs::pin_addresses(true);
  ASSERT_EQ(register_block(), "");
  EXPECT_EQ(region_->reached, "the memory of the GPU Stand-in 0 by data-direct");
  EXPECT_EQ(region_->access.note(), " access=data-direct");
  const std::uint64_t address = dynamic_cast<const CudaBlock&>(*block_).address();
  EXPECT_EQ(region_->address, address);
  ASSERT_EQ(verbs::registered().size(), 1U);
  const verbs::Registered registered = verbs::registered().front();
  EXPECT_TRUE(registered.is_by_data_direct);
  EXPECT_EQ(registered.iova, address);
  EXPECT_EQ(registered.size_bytes, block_->size_bytes());
}

TEST_F(GpuDataDirect, IsAlwaysReadBackWhateverCudaSays) {
  for (const int order : {0, 100, 200}) {
    stand_in::set_attribute(118, order);
    ASSERT_EQ(register_block(ring_access | static_cast<unsigned>(IBV_ACCESS_RELAXED_ORDERING)), "");
    EXPECT_TRUE(region_->needs_read_back);
    EXPECT_EQ(verbs::registered().back().access, ring_access | static_cast<unsigned>(IBV_ACCESS_REMOTE_READ));
  }
}

TEST_F(GpuDataDirect, OfAPoolAllowsNoMoreThanAnyOtherWay) {
  for (const unsigned access : {0U, static_cast<unsigned>(IBV_ACCESS_REMOTE_READ)}) {
    ASSERT_EQ(register_block(access), "");
    EXPECT_TRUE(verbs::registered().back().is_by_data_direct);
    EXPECT_EQ(verbs::registered().back().access, access);
  }
}

TEST_F(GpuDataDirect, IsNotThereWithoutItsLibrary) {
  verbs::set_mlx5_library(verbs::Mlx5Library::missing);
  EXPECT_EQ(why_dma_buf(), "no data-direct: libmlx5.so.1 is not here");
  ibv_pd& domain = verbs::domain_without_device();
  EXPECT_EQ(register_for_data_direct(domain, 0, 4096, 0, -1, 0), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(GpuDataDirect, IsNotThereInAnOldLibrary) {
  verbs::set_mlx5_library(verbs::Mlx5Library::old);
  EXPECT_EQ(why_dma_buf(), "no data-direct: libmlx5.so.1 is older than rdma-core 54");
}

TEST_F(GpuDataDirect, IsNotThereWithAnotherMakersDevice) {
  verbs::set_is_mlx5(false);
  EXPECT_EQ(why_dma_buf(), "no data-direct: the RDMA device is not of mlx5");
}

TEST_F(GpuDataDirect, IsNotThereWithoutASecondFunction) {
  verbs::set_data_direct(ENODEV);
  EXPECT_EQ(why_dma_buf(), "no data-direct: the RDMA device has none");
  for (const int error_number : {EOPNOTSUPP, EPROTONOSUPPORT, ENOTTY}) {
    verbs::set_data_direct(error_number);
    EXPECT_EQ(why_dma_buf(), "no data-direct: its driver does not know it");
  }
  verbs::set_data_direct(EIO);
  EXPECT_EQ(why_dma_buf(), "no data-direct: asking its driver: Input/output error");
}

TEST_F(GpuDataDirect, SaysWhereItsSecondFunctionIs) {
  ibv_context& device = *verbs::domain_without_device().context;
  EXPECT_EQ(data_direct_of(device).path, "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.1");
  EXPECT_EQ(data_direct_of(device).why_not, "");
}

TEST_F(GpuDataDirect, NeedsADriverOfTheGpuThatKnowsIt) {
  stand_in::set_driver_version(12070);
  EXPECT_EQ(why_dma_buf(), "no data-direct: the GPU's driver is older than CUDA 12.8");
  stand_in::set_driver_version(12080);
  constexpr int invalid_value = 1;
  constexpr int calls_for_the_next_way = 1;
  stand_in::fail("cuMemGetHandleForAddressRange", invalid_value, calls_for_the_next_way);
  EXPECT_EQ(why_dma_buf(), "no data-direct: cuMemGetHandleForAddressRange: CUDA_ERROR_INVALID_VALUE");
  stand_in::set_pcie_mapping(false);
  EXPECT_EQ(why_dma_buf(), "no data-direct: cuMemGetHandleForAddressRange: CUDA_ERROR_NOT_SUPPORTED");
}

TEST_F(GpuDataDirect, NeedsAGpuThatExports) {
  stand_in::set_attribute(124, 0);
  load_peer_memory();
  verbs::pin_addresses(true);
  ASSERT_EQ(register_block(), "");
  EXPECT_EQ(region_->access.note(),
            " access=peer-memory (no data-direct: the GPU exports no DMA-BUF; no DMA-BUF: the GPU exports none)");
}

TEST_F(GpuDataDirect, GivesWayWhereItsRegistrationFails) {
  verbs::refuse_data_direct(EINVAL);
  EXPECT_EQ(why_dma_buf(), "no data-direct: its driver: Invalid argument");
  ASSERT_EQ(verbs::registered().size(), 1U);
}

TEST_F(GpuDataDirect, IsNamedWhereNoWayIsLeft) {
  verbs::refuse_data_direct(EINVAL);
  verbs::refuse_dma_buf(EOPNOTSUPP);
  EXPECT_EQ(register_block(),
            "cannot reach the memory of the GPU Stand-in 0 with the RDMA device rxe0: no data-direct (its driver: "
            "Invalid argument), no DMA-BUF (its driver: Operation not supported), and nvidia-peermem is not loaded; "
            "take --memory host");
  verbs::refuse_data_direct(ENOMEM);
  EXPECT_EQ(
      register_block(),
      "cannot reach the memory of the GPU Stand-in 0 with the RDMA device rxe0: no data-direct (its driver: Cannot "
      "allocate memory), no DMA-BUF (its driver: Operation not supported), and nvidia-peermem is not loaded; its "
      "BAR1 window may be too small for 2 MB; take fewer slots (send --viewers 1) or --memory host");
}

}  // namespace
}  // namespace framewire
