// Read mode with a hostile end: a sender that shows nonsense, and a viewer that does more than read.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <thread>

#include "base/error.hpp"
#include "tests/rdma_lab/pulling.hpp"
#include "tests/rdma_lab/verbs_peer.hpp"
#include "transport/frame_directory.hpp"

namespace framewire::test {
namespace {

// ---- A hostile sender ----

constexpr std::uint64_t slot_bytes = 10'000;

class HostileReadTarget : public Pulling {
 protected:
  HostileReadTarget() {
    peer_ = std::make_unique<VerbsPeer>(std::move(accepted_));
    make_puller();
    const auto open = [&](const std::shared_ptr<Block>& block) {
      return register_memory(peer_->protection_domain(), block, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
    };
    payload_ = open(pool_.block());
    directory_ = open(pool_.directory()->block());
    access_ = {.payload_address = reinterpret_cast<std::uint64_t>(payload_->mr->addr),
               .payload_key = payload_->mr->rkey,
               .directory_address = reinterpret_cast<std::uint64_t>(directory_->mr->addr),
               .directory_key = directory_->mr->rkey,
               .slots = pool_.slot_count()};
  }

  void begin(const LinkDescription& pool) {
    puller_->begin_epoch(1, slot_bytes, 2, pool);
    puller_->epoch_is_ready();
  }
  std::uint16_t publish_cell(const FrameHeader& header) {
    const auto slot = pool_.claim();
    pool_.publish_cell(*slot, header);
    pool_.release(*slot);
    return *slot;
  }
  [[nodiscard]] std::span<std::byte> directory_memory() const { return directory_->bytes(); }

  Pool pool_{1, slot_bytes, 4, true};
  std::unique_ptr<VerbsPeer> peer_;
  std::shared_ptr<const MemoryRegion> payload_;
  std::shared_ptr<const MemoryRegion> directory_;
  PoolAccess access_;
};

TEST_F(HostileReadTarget, AGoodOneIsRead) {
  begin(describe(access_));
  publish_cell(header_of(1, 0, 100));
  EXPECT_TRUE(next_frame()) << puller_->fault();
}

TEST_F(HostileReadTarget, NoPoolAtAll) {
  EXPECT_THROW(begin({}), Error);
  access_.slots = 0;
  EXPECT_THROW(begin(describe(access_)), Error);
  access_.slots = max_pool_slots + 1;
  EXPECT_THROW(begin(describe(access_)), Error);
}

TEST_F(HostileReadTarget, ANewestFrameInNoSlot) {
  begin(describe(access_));
  const std::uint64_t newest = std::uint64_t{1} << 16 | 4;
  std::memcpy(directory_memory().data(), &newest, sizeof newest);
  expect_puller_ends(LinkState::broken, "in none of its slots");
}

TEST_F(HostileReadTarget, AHeaderThatIsNone) {
  begin(describe(access_));
  const std::uint16_t slot = publish_cell(header_of(1, 0, 100));
  std::memset(directory_memory().data() + directory_cell_offset_bytes(slot) + directory_generation_bytes, 0x55, 100);
  expect_puller_ends(LinkState::broken, "no frame header");
}

TEST_F(HostileReadTarget, AFrameLargerThanASlot) {
  begin(describe(access_));
  publish_cell(header_of(1, 0, slot_bytes + 1));
  expect_puller_ends(LinkState::broken, "does not belong");
}

TEST_F(HostileReadTarget, AFrameOfAnotherEpoch) {
  begin(describe(access_));
  publish_cell(header_of(2, 0, 100));
  expect_puller_ends(LinkState::broken, "does not belong");
}

TEST_F(HostileReadTarget, OneSliceOfAFrame) {
  begin(describe(access_));
  FrameHeader header = header_of(1, 0, 100);
  header.slice_count = 2;
  header.slice_bytes = 50;
  publish_cell(header);
  expect_puller_ends(LinkState::broken, "does not belong");
}

/// The newest cell names a frame that its slot's cell never shows. There is nothing to read, and the viewer must not
/// hang.
TEST_F(HostileReadTarget, ACellThatNeverAgrees) {
  begin(describe(access_));
  publish_cell(header_of(1, 0, 100));
  const std::uint64_t newest = std::uint64_t{77} << 16;
  std::memcpy(directory_memory().data(), &newest, sizeof newest);
  EXPECT_TRUE(eventually([&] {
    EXPECT_FALSE(puller_->poll());
    return puller_->frames_discarded() >= 10;
  }));
  EXPECT_EQ(puller_->state(), LinkState::open);
}

TEST_F(HostileReadTarget, KeysThatOpenNothing) {
  access_.directory_key ^= 0x100;
  begin(describe(access_));
  expect_puller_ends(LinkState::lost, "does not allow");
}

TEST_F(HostileReadTarget, APayloadThatMayNotBeRead) {
  access_.payload_address += std::uint64_t{1} << 40;
  begin(describe(access_));
  publish_cell(header_of(1, 0, 1000));
  expect_puller_ends(LinkState::lost, "does not allow");
}

TEST_F(HostileReadTarget, WritingToWhomItShows) {
  begin(describe(access_));
  EXPECT_NE(peer_->write(access_.payload_address, access_.payload_key, 100), IBV_WC_SUCCESS);
  EXPECT_TRUE(eventually([&] {
    puller_->maintain();
    puller_->poll();
    return puller_->state() != LinkState::open;
  }));
}

// ---- A hostile viewer ----

class HostilePuller : public Pulling {
 protected:
  HostilePuller() {
    make_read_target();
    peer_ = std::make_unique<VerbsPeer>(std::move(dialled_));
    std::memset(pool_->slot(0).data(), 0x11, slot_bytes);
    access_ = pool_access_from(read_target_->open(pool_)).value();
  }

  /// Expects the device to refuse the request and end this session, and the pool to be unchanged.
  void expect_refused(std::optional<ibv_wc_status> status) {
    ASSERT_TRUE(status);
    EXPECT_TRUE(*status == IBV_WC_REM_ACCESS_ERR || *status == IBV_WC_REM_INV_REQ_ERR) << ibv_wc_status_str(*status);
    EXPECT_EQ(pool_->slot(0)[0], std::byte{0x11});
  }

  std::shared_ptr<Pool> pool_ = std::make_shared<Pool>(1, slot_bytes, 4, true);
  std::unique_ptr<VerbsPeer> peer_;
  PoolAccess access_;
};

TEST_F(HostilePuller, AGoodOneReads) {
  EXPECT_EQ(peer_->read(access_.payload_address, access_.payload_key, 100), IBV_WC_SUCCESS);
  EXPECT_EQ(peer_->memory()[0], std::byte{0x11});
  EXPECT_EQ(peer_->read(access_.directory_address, access_.directory_key, newest_cell_bytes), IBV_WC_SUCCESS);
}

TEST_F(HostilePuller, WritingAFrame) {
  expect_refused(peer_->write(access_.payload_address, access_.payload_key, 100));
}

TEST_F(HostilePuller, WritingTheDirectory) {
  expect_refused(peer_->write(access_.directory_address, access_.directory_key, 100));
}

TEST_F(HostilePuller, ReadingPastTheEnd) {
  expect_refused(peer_->read(access_.payload_address + pool_->block()->size_bytes() - 10, access_.payload_key, 100));
}

TEST_F(HostilePuller, ReadingAPoolThatIsNotOpen) {
  SenderProtectionDomains closed;
  RdmaConnectionPair other = rdma_connection_pair(closed);
  const auto memory_region = closed.memory_region_of(other.accepted->protection_domain(), pool_->block());
  expect_refused(peer_->read(reinterpret_cast<std::uint64_t>(memory_region->mr->addr), memory_region->mr->rkey, 100));
}

TEST_F(HostilePuller, ReadingAnEarlierPool) {
  const auto next = std::make_shared<Pool>(2, slot_bytes, 4, true);
  read_target_->open(next);
  read_target_->close_earlier();
  expect_refused(peer_->read(access_.payload_address, access_.payload_key, 100));
}

/// The sender has posted no receive, so a message is never delivered. It blocks only the hostile viewer.
TEST_F(HostilePuller, TalkingInsteadOfReading) {
  SenderProtectionDomains protection_domains(PoolReaders::viewers);
  RdmaConnectionPair pair = rdma_connection_pair(protection_domains, {}, false);
  RdmaReadTarget read_target(std::move(pair.accepted), protection_domains);
  RdmaPuller honest(std::move(pair.dialled), at_once_ns, false);
  const LinkDescription pool = read_target.open(pool_);
  honest.begin_epoch(1, slot_bytes, 2, pool);
  honest.epoch_is_ready();
  std::thread talker([&] { peer_->send_immediate(1); });
  const auto slot = pool_->claim();
  pool_->publish_cell(*slot, header_of(1, 0, 100));
  EXPECT_TRUE(eventually([&] { return honest.poll().has_value(); }));
  read_target_.reset();  // completes the hostile viewer's request
  talker.join();
}

}  // namespace
}  // namespace framewire::test
