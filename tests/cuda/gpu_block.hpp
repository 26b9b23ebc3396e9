// A block of a GPU's memory that an RDMA device registers, as the stand-ins for both say.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
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

namespace framewire::test {

inline constexpr std::uint64_t unit_bytes = std::uint64_t{2} << 20;
inline constexpr auto ring_access = static_cast<unsigned>(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

class GpuBlockTest : public testing::Test {
 protected:
  void SetUp() override {
    cuda_stand_in::reset();
    dma_buf_verbs::reset();
  }
  void TearDown() override {
    region_.reset();
    EXPECT_EQ(dma_buf_verbs::living(), 0U);
    block_.reset();
    memory_.reset();
    cuda_stand_in::reset();
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
      cuda_stand_in::fail("cuMemGetHandleForAddressRange", fault_of_next_export_);
    }
    const auto open_before = open_descriptors();
    const std::shared_ptr<ibv_pd> domain(&dma_buf_verbs::domain_without_device(), [](ibv_pd*) {});
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

  TemporaryFolder folder_;
  int fault_of_next_export_ = 0;
  std::optional<CudaMemory> memory_;
  std::shared_ptr<Block> block_;
  std::shared_ptr<const MemoryRegion> region_;
};

}  // namespace framewire::test
