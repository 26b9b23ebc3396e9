// A sender and a viewer whose frames lie in a GPU's memory, over a real RDMA device, as the stand-ins say.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
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

inline constexpr std::uint64_t ring_slot_bytes = 100'000;
inline constexpr std::uint32_t ring_slots = 2;

/// The parameter of tests that need a device: none where there is none.
inline std::vector<std::string> device_here() {
  return rdma_addresses().empty() ? std::vector<std::string>{} : std::vector<std::string>{"rdma"};
}

class GpuRingTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    cuda_stand_in::reset();
    dma_buf_verbs::reset();
  }
  void TearDown() override {
    receiver_.reset();
    sender_.reset();
    pool_.reset();
    EXPECT_EQ(dma_buf_verbs::living(), 0U);
    memory_.reset();
    EXPECT_EQ(cuda_stand_in::contexts_on_this_thread(), 0U);
    cuda_stand_in::reset();
    dma_buf_verbs::reset();
  }

  void load_peer_memory() const {
    const std::filesystem::path module = folder_.file("sys/module/nvidia_peermem");
    std::filesystem::create_directories(module);
    std::ofstream(module / "version") << "550.54.14\n";
  }

  /// Two ends that are connected, without a pool and a ring.
  void connect() {
    memory_.emplace(choose_cuda_device(cuda_devices(), ""), SystemFiles(folder_.path()));
    auto [accepted, dialled] = rdma_connection_pair(domains_);
    device_ = dialled->device_name();
    session_domain_ = dialled->protection_domain().get();
    sender_ = std::make_unique<RdmaSender>(std::move(accepted), domains_);
    receiver_ = std::make_unique<RdmaReceiver>(std::move(dialled), true);
    receiver_->set_memory(*memory_);
    receiver_->set_stop_check(stop_check_);
  }

  /// Connects, with a pool and a ring in the GPU's memory as the stand-ins say now. Returns the error; empty: none.
  std::string begin() {
    connect();
    try {
      const LinkDescription ring = receiver_->begin_epoch(1, ring_slot_bytes, ring_slots, {});
      pool_ = std::make_shared<Pool>(1, ring_slot_bytes, 4, false, StopCheck{}, *memory_);
      sender_->begin_epoch(pool_);
      sender_->epoch_ready(1, ring_slots, ring);
      return {};
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), status_of_fault_);
      return error.what();
    }
  }

  static std::span<std::byte> on_device(const Block& block) {
    return {cuda_stand_in::memory_at(dynamic_cast<const CudaBlock&>(block).address()), block.size_bytes()};
  }

  /// Frees the slots of frames that have left.
  void release_sent() {
    std::array<PoolSlot, 4> released;
    const std::size_t count = sender_->poll_released(released);
    for (std::size_t i = 0; i < count; ++i) {
      if (released.at(i).epoch == pool_->epoch()) {
        pool_->release(released.at(i).index);
      }
    }
    frames_left_ += count;
  }

  /// Sends one frame in one slice, once there is a credit.
  void send(std::uint64_t sequence) {
    std::optional<std::uint16_t> free;
    EXPECT_TRUE(eventually([&] {
      release_sent();
      return (free = pool_->claim()).has_value();
    }));
    const std::uint16_t slot = free.value();
    write_test_lines(on_device(*pool_->block()).subspan(slot * pool_->stride_bytes(), ring_slot_bytes), sequence);
    OutgoingFrame frame{.payload = pool_->payload(slot, ring_slot_bytes), .pool_slot = {pool_->epoch(), slot}};
    frame.header.sequence = sequence;
    frame.header.epoch = pool_->epoch();
    frame.header.layout = bytes_layout(ring_slot_bytes);
    frame.header.slice_bytes = ring_slot_bytes;
    EXPECT_TRUE(eventually([&] {
      release_sent();
      return sender_->try_send(frame) == SendResult::accepted;
    }));
  }

  /// The same with a new pool and a new ring.
  void send_of_next_epoch(std::uint64_t sequence) {
    const std::uint32_t epoch = pool_->epoch() + 1;
    const LinkDescription ring = receiver_->begin_epoch(epoch, ring_slot_bytes, ring_slots, {});
    pool_ = std::make_shared<Pool>(epoch, ring_slot_bytes, 4, false, StopCheck{}, *memory_);
    sender_->begin_epoch(pool_);
    sender_->epoch_ready(epoch, ring_slots, ring);
    send(sequence);
  }

  static bool is_whole(const IncomingFrame& frame, std::uint64_t sequence) {
    EXPECT_TRUE(frame.payload.empty()) << "the processor may not touch it";
    const auto bytes = on_device(*frame.block).subspan(frame.offset_in_block_bytes, ring_slot_bytes);
    return !find_torn_line(bytes, sequence);
  }

  /// Sends one frame. Returns whether it arrives whole; false: the link has ended.
  bool sends_one(std::uint64_t sequence) {
    send(sequence);
    bool arrives_whole = false;
    EXPECT_TRUE(eventually([&] {
      release_sent();
      const auto arrived = receiver_->poll();
      if (arrived) {
        arrives_whole = is_whole(*arrived, sequence);
        receiver_->return_credit(arrived->header);
      }
      return arrived.has_value() || receiver_->state() != LinkState::open;
    }));
    return arrives_whole;
  }

  TemporaryFolder folder_;
  SenderProtectionDomains domains_;
  std::optional<CudaMemory> memory_;
  std::shared_ptr<Pool> pool_;
  std::unique_ptr<RdmaSender> sender_;
  std::unique_ptr<RdmaReceiver> receiver_;
  std::uint64_t frames_left_ = 0;  // the sender
  std::string device_;
  const ibv_pd* session_domain_ = nullptr;
  StopCheck stop_check_;                             // of the receiver
  ExitStatus status_of_fault_ = ExitStatus::failed;  // of begin(): another link may do
};

}  // namespace framewire::test
