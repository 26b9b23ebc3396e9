// By which way an RDMA device reaches a GPU's memory, and what it is told where none is left.
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "memory/cuda/cuda_memory.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/cuda/dma_buf_verbs.hpp"
#include "tests/cuda/stand_in.hpp"
#include "transport/rdma/work_requests.hpp"

namespace framewire {
namespace {

namespace stand_in = test::cuda_stand_in;
namespace verbs = test::dma_buf_verbs;

constexpr std::uint64_t unit_bytes = std::uint64_t{2} << 20;
constexpr auto ring_access = static_cast<unsigned>(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

class GpuRegistration : public testing::Test {
 protected:
  void SetUp() override {
    stand_in::reset();
    verbs::reset();
  }
  void TearDown() override {
    region_.reset();
    EXPECT_EQ(verbs::living(), 0U);
    block_.reset();
    memory_.reset();
    stand_in::reset();
  }

  void load_peer_memory() const {
    const std::filesystem::path module = folder_.file("sys/module/nvidia_peermem");
    std::filesystem::create_directories(module);
    std::ofstream(module / "version") << "550.54.14\n";
  }

  /// Registers a block of a GPU as the stand-ins say now. Returns the error; empty: it is in region_.
  std::string register_block(unsigned access = ring_access) {
    region_.reset();
    block_.reset();
    memory_.emplace(choose_cuda_device(cuda_devices(), ""), SystemFiles(folder_.path()));
    block_ = memory_->allocate_private("a ring", unit_bytes, {});
    if (fault_of_next_export_ != 0) {
      stand_in::fail("cuMemGetHandleForAddressRange", fault_of_next_export_);
    }
    const auto open_before = open_descriptors();
    const std::shared_ptr<ibv_pd> domain(&verbs::domain_without_device(), [](ibv_pd*) {});
    try {
      region_ = register_memory(domain, block_, access);
      EXPECT_EQ(open_descriptors(), open_before) << "the registration holds the memory, and no descriptor";
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  }

  static std::ptrdiff_t open_descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  }

  test::TemporaryFolder folder_;
  int fault_of_next_export_ = 0;
  std::optional<CudaMemory> memory_;
  std::shared_ptr<Block> block_;
  std::shared_ptr<const MemoryRegion> region_;
};

const std::string cannot_reach =
    "cannot reach the memory of the GPU Stand-in 0 with the RDMA device rxe0: no DMA-BUF (";

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
  EXPECT_EQ(registered.iova, address);
  EXPECT_EQ(registered.size_bytes, block_->size_bytes());
  EXPECT_EQ(registered.access, ring_access);
  EXPECT_EQ(verbs::living(), 1U);
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
