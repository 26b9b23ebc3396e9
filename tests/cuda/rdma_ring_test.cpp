// A viewer's ring in a GPU's memory, over a real RDMA device: how it is opened, tried, and seen.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "frame/test_pattern.hpp"
#include "memory/cuda/cuda_memory.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/contract/link_pairs.hpp"
#include "tests/cuda/dma_buf_verbs.hpp"
#include "tests/cuda/stand_in.hpp"
#include "transport/rdma/addresses.hpp"
#include "transport/rdma/rdma_receiver.hpp"
#include "transport/rdma/rdma_sender.hpp"

namespace framewire::test {
namespace {

namespace stand_in = cuda_stand_in;
namespace verbs = dma_buf_verbs;

constexpr std::uint64_t slot_bytes = 100'000;
constexpr std::uint32_t ring_slots = 2;

class GpuRing : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    stand_in::reset();
    verbs::reset();
  }
  void TearDown() override {
    receiver_.reset();
    sender_.reset();
    pool_.reset();
    EXPECT_EQ(verbs::living(), 0U);
    memory_.reset();
    EXPECT_EQ(stand_in::contexts_on_this_thread(), 0U);
    stand_in::reset();
    verbs::reset();
  }

  void load_peer_memory() const {
    const std::filesystem::path module = folder_.file("sys/module/nvidia_peermem");
    std::filesystem::create_directories(module);
    std::ofstream(module / "version") << "550.54.14\n";
  }

  /// Connects, with a pool and a ring in the GPU's memory as the stand-ins say now. Returns the error; empty: none.
  std::string begin() {
    memory_.emplace(choose_cuda_device(cuda_devices(), ""), SystemFiles(folder_.path()));
    auto [accepted, dialled] = rdma_connection_pair(domains_);
    device_ = dialled->device_name();
    session_domain_ = dialled->protection_domain().get();
    sender_ = std::make_unique<RdmaSender>(std::move(accepted), domains_);
    receiver_ = std::make_unique<RdmaReceiver>(std::move(dialled), true);
    receiver_->set_memory(*memory_);
    try {
      const LinkDescription ring = receiver_->begin_epoch(1, slot_bytes, ring_slots, {});
      pool_ = std::make_shared<Pool>(1, slot_bytes, 4, false, StopCheck{}, *memory_);
      sender_->begin_epoch(pool_);
      sender_->epoch_ready(1, ring_slots, ring);
      return {};
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), ExitStatus::failed) << "another link may do";
      return error.what();
    }
  }

  static std::span<std::byte> on_device(const Block& block) {
    return {stand_in::memory_at(dynamic_cast<const CudaBlock&>(block).address()), block.size_bytes()};
  }

  /// Sends one frame. Returns whether it arrives whole; false: the link has ended.
  bool sends_one(std::uint64_t sequence) {
    const std::uint16_t slot = pool_->claim().value();
    write_test_lines(on_device(*pool_->block()).subspan(slot * pool_->stride_bytes(), slot_bytes), sequence);
    OutgoingFrame frame{.payload = pool_->payload(slot, slot_bytes), .pool_slot = {1, slot}};
    frame.header.sequence = sequence;
    frame.header.epoch = 1;
    frame.header.layout = bytes_layout(slot_bytes);
    frame.header.slice_bytes = slot_bytes;
    std::array<PoolSlot, 4> released;
    EXPECT_TRUE(eventually([&] {
      sender_->poll_released(released);
      return sender_->try_send(frame) == SendResult::accepted;
    }));
    bool is_whole = false;
    EXPECT_TRUE(eventually([&] {
      const std::size_t count = sender_->poll_released(released);
      for (std::size_t i = 0; i < count; ++i) {
        pool_->release(released.at(i).index);
      }
      const auto arrived = receiver_->poll();
      if (arrived) {
        EXPECT_TRUE(arrived->payload.empty()) << "the processor may not touch it";
        const auto bytes = on_device(*arrived->block).subspan(arrived->offset_in_block_bytes, slot_bytes);
        is_whole = !find_torn_line(bytes, sequence);
        receiver_->return_credit(arrived->header);
      }
      return arrived.has_value() || receiver_->state() != LinkState::open;
    }));
    return is_whole;
  }

  TemporaryFolder folder_;
  SenderProtectionDomains domains_;
  std::optional<CudaMemory> memory_;
  std::shared_ptr<Pool> pool_;
  std::unique_ptr<RdmaSender> sender_;
  std::unique_ptr<RdmaReceiver> receiver_;
  std::string device_;
  const ibv_pd* session_domain_ = nullptr;
};

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

TEST_P(GpuRing, IsRefusedWhereItCannotBeFlushed) {
  stand_in::set_attribute(118, 0);
  stand_in::set_attribute(117, 0);
  EXPECT_EQ(begin(),
            "the GPU Stand-in 0 would not see in time what an RDMA device writes into its memory, and cannot be told "
            "to; take --memory host");
}

TEST_P(GpuRing, IsRefusedWhereTheFlushOfItsTrialFails) {
  stand_in::set_attribute(118, 0);
  stand_in::fail("cuFlushGPUDirectRDMAWrites", 999);
  const std::string fault = begin();
  EXPECT_EQ(fault, "what the RDMA device " + device_ +
                       " wrote to the memory of the GPU Stand-in 0 by DMA-BUF cannot be seen there: "
                       "cuFlushGPUDirectRDMAWrites: CUDA_ERROR_UNKNOWN");
}

TEST_P(GpuRing, IsRefusedWhereWhatIsWrittenDoesNotArrive) {
  verbs::lead_astray(true);
  const std::string fault = begin();
  EXPECT_EQ(fault, "what the RDMA device " + device_ +
                       " wrote to the memory of the GPU Stand-in 0 by DMA-BUF did not arrive there; take --memory "
                       "host");
}

TEST_P(GpuRing, IsRefusedWhereItCannotBeReadBack) {
  stand_in::fail("cuMemcpyDtoHAsync", 999);
  EXPECT_EQ(begin(),
            "a trial of the memory of the GPU Stand-in 0 by DMA-BUF could not be read: cuMemcpyDtoHAsync: "
            "CUDA_ERROR_UNKNOWN");
}

TEST_P(GpuRing, IsRefusedWhereNoWayLeadsThere) {
  verbs::refuse_dma_buf(EOPNOTSUPP);
  const std::string fault = begin();
  EXPECT_EQ(fault, "cannot reach the memory of the GPU Stand-in 0 with the RDMA device " + device_ +
                       ": no DMA-BUF (its driver: Operation not supported), and nvidia-peermem is not loaded; take "
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

std::vector<std::string> device_here() {
  return rdma_addresses().empty() ? std::vector<std::string>{} : std::vector<std::string>{"rdma"};
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GpuRing);
INSTANTIATE_TEST_SUITE_P(Device, GpuRing, testing::ValuesIn(device_here()), [](const auto& one) { return one.param; });

}  // namespace
}  // namespace framewire::test
