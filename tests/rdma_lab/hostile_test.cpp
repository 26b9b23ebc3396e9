// Hostile RDMA peers that know the session's token and then break the protocol. They use verbs directly.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "frame/test_pattern.hpp"
#include "tests/base/eventually.hpp"
#include "tests/contract/link_pairs.hpp"
#include "tests/rdma_lab/verbs_peer.hpp"
#include "transport/rdma/rdma_link_core.hpp"
#include "transport/rdma/rdma_receiver.hpp"
#include "transport/rdma/rdma_sender.hpp"
#include "transport/rdma/wire.hpp"

namespace framewire::test {
namespace {

constexpr std::uint64_t slot_bytes = 10'000;
constexpr std::uint32_t ring_slots = 2;

// ---- A device that does not finish ----

/// A device repeats a send for ever if the peer has no receive for it. To the program this is a device that has lost
/// the request. A valid request queued behind it does not help.
TEST(AStuckDevice, IsNotWaitedForForEver) {
  SenderProtectionDomains protection_domains;
  RdmaConnectionPair pair = rdma_connection_pair(protection_domains, {}, false);
  RdmaLinkCore end(std::move(pair.dialled), "the other end");
  ibv_send_wr request{};
  request.opcode = IBV_WR_SEND;
  {
    const std::scoped_lock lock(end.mutex());
    ASSERT_TRUE(end.post(std::span(&request, 1)));
    end.post_probe();
    EXPECT_TRUE(end.sends().awaits_completion());
    EXPECT_EQ(end.sends().awaited_bytes(), 0U);
  }
  const std::int64_t give_up_ns = monotonic_ns() + 30 * ns_per_s;
  while (end.is_open() && monotonic_ns() < give_up_ns) {
    end.maintain();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(end.state(), LinkState::lost);
  EXPECT_EQ(end.fault(), "the other end does not answer, nor does the RDMA device say so");
}

/// One completion covers all unsignalled requests before it, up to half a queue.
TEST(ASendQueue, KnowsHowMuchTheNextCompletionIsBehind) {
  SenderProtectionDomains protection_domains;
  RdmaConnectionPair pair = rdma_connection_pair(protection_domains, {.queue_depth = 8}, false);
  RdmaLinkCore end(std::move(pair.dialled), "the other end");
  const std::scoped_lock lock(end.mutex());
  for (int round = 0; round < 100; ++round) {  // wraps round the queue
    end.post_probe();
    ASSERT_TRUE(end.sends().awaits_completion());
    ASSERT_TRUE(eventually([&] { return end.poll_sends(); }));
    ASSERT_FALSE(end.sends().awaits_completion());
  }
  std::array<char, 3> bytes{};
  ibv_sge part{.addr = reinterpret_cast<std::uint64_t>(bytes.data()), .length = bytes.size(), .lkey = 0};
  const auto post_what_nobody_receives = [&] {
    ibv_send_wr request{};
    request.opcode = IBV_WR_SEND;
    request.sg_list = &part;
    request.num_sge = 1;
    request.send_flags = IBV_SEND_INLINE;
    return end.post(std::span(&request, 1));
  };
  const std::uint32_t half = end.connection().capabilities().send_depth / 2;
  for (std::uint32_t i = 1; i < half; ++i) {
    ASSERT_TRUE(post_what_nobody_receives());
    EXPECT_FALSE(end.sends().awaits_completion()) << i;
  }
  while (end.room() > 0) {
    ASSERT_TRUE(post_what_nobody_receives());
    EXPECT_EQ(end.sends().awaited_bytes(), bytes.size() * half) << "what is posted behind it does not count";
  }
}

// ---- A hostile sender ----

class HostileSender : public testing::Test {
 protected:
  HostileSender() {
    RdmaConnectionPair pair = rdma_connection_pair(protection_domains_);
    peer_ = std::make_unique<VerbsPeer>(std::move(pair.accepted));
    receiver_ = std::make_unique<RdmaReceiver>(std::move(pair.dialled), false);
    access_ = *ring_access_from(receiver_->begin_epoch(1, slot_bytes, ring_slots, {}));
  }

  /// Announces a frame as a sender does, and returns the completion status.
  std::optional<ibv_wc_status> announce(const FrameHeader& header, const Immediate& immediate) {
    const std::size_t bytes = encode(header, peer_->memory());
    const std::uint64_t cell = std::uint64_t{immediate.slot} * access_.cells_per_slot + immediate.slice;
    return peer_->announce(access_.cells_address + cell * cell_stride_bytes, access_.cells_key, bytes,
                           encode(immediate));
  }

  /// Expects the link to fail with an error that contains `word`, and to hand no frame out.
  void expect_broken(const std::string& word) {
    EXPECT_TRUE(eventually([&] {
      receiver_->maintain();
      EXPECT_FALSE(receiver_->poll());
      return receiver_->state() != LinkState::open;
    }));
    EXPECT_EQ(receiver_->state(), LinkState::broken);
    EXPECT_NE(receiver_->fault().find(word), std::string::npos) << receiver_->fault();
  }

  /// Expects the link to lose its connection because this end's device closed it.
  void expect_ended() {
    EXPECT_TRUE(eventually([&] {
      receiver_->maintain();
      EXPECT_FALSE(receiver_->poll());
      return receiver_->state() != LinkState::open;
    }));
    EXPECT_FALSE(receiver_->fault().empty());
  }

  SenderProtectionDomains protection_domains_;
  std::unique_ptr<VerbsPeer> peer_;
  std::unique_ptr<RdmaReceiver> receiver_;
  RingAccess access_;
};

TEST_F(HostileSender, AGoodFrameArrives) {
  ASSERT_EQ(announce(header_of(1, 1, 10), {.epoch = 1, .slot = 1}), IBV_WC_SUCCESS);
  std::optional<IncomingFrame> frame;
  ASSERT_TRUE(eventually([&] { return (frame = receiver_->poll()).has_value(); }));
  EXPECT_EQ(frame->payload.size(), 10U);
}

TEST_F(HostileSender, NoSuchSlot) {
  const std::size_t bytes = encode(header_of(1, 900, 10), peer_->memory());
  ASSERT_EQ(peer_->announce(access_.cells_address, access_.cells_key, bytes, encode({.epoch = 1, .slot = 900})),
            IBV_WC_SUCCESS);
  expect_broken("no credit");
}

TEST_F(HostileSender, NoSuchEpoch) {
  ASSERT_EQ(announce(header_of(2, 0, 10), {.epoch = 2}), IBV_WC_SUCCESS);
  expect_broken("no credit");
}

TEST_F(HostileSender, NoSuchSlice) {
  const std::size_t bytes = encode(header_of(1, 0, 10), peer_->memory());
  receiver_->begin_epoch(2, slot_bytes, 1024, {});  // 16 cells per slot
  ASSERT_EQ(
      peer_->announce(access_.cells_address, access_.cells_key, bytes, encode({.epoch = 2, .slot = 0, .slice = 200})),
      IBV_WC_SUCCESS);
  expect_broken("no credit");
}

TEST_F(HostileSender, AHeaderThatIsNone) {
  std::ranges::fill(peer_->memory(), std::byte{0xa5});
  ASSERT_EQ(peer_->announce(access_.cells_address, access_.cells_key, 200, encode({.epoch = 1})), IBV_WC_SUCCESS);
  expect_broken("no frame header");
}

TEST_F(HostileSender, AHeaderWithOneBitFlipped) {
  const std::size_t bytes = encode(header_of(1, 0, 10), peer_->memory());
  peer_->memory()[8] ^= std::byte{1};
  ASSERT_EQ(peer_->announce(access_.cells_address, access_.cells_key, bytes, encode({.epoch = 1})), IBV_WC_SUCCESS);
  expect_broken("header");
}

TEST_F(HostileSender, AHeaderOfAnotherSlot) {
  ASSERT_EQ(announce(header_of(1, 0, 10), {.epoch = 1, .slot = 1}), IBV_WC_SUCCESS);
  expect_broken("does not belong");
}

TEST_F(HostileSender, AFrameThatIsLargerThanItsSlot) {
  ASSERT_EQ(announce(header_of(1, 0, slot_bytes + 1), {.epoch = 1}), IBV_WC_SUCCESS);
  expect_broken("does not belong");
}

TEST_F(HostileSender, SlicesThatDoNotTile) {
  FrameHeader header = header_of(1, 0, 100);
  header.slice = 1;
  header.slice_count = 2;
  header.slice_bytes = 50;
  ASSERT_EQ(announce(header, {.epoch = 1, .slot = 0, .slice = 1}), IBV_WC_SUCCESS);
  expect_broken("overlaps others or leaves a gap");
}

TEST_F(HostileSender, ASlotWithoutCredit) {
  ASSERT_EQ(announce(header_of(1, 0, 10), {.epoch = 1}), IBV_WC_SUCCESS);
  std::optional<IncomingFrame> frame;
  ASSERT_TRUE(eventually([&] { return (frame = receiver_->poll()).has_value(); }));
  ASSERT_EQ(announce(header_of(1, 0, 10), {.epoch = 1}), IBV_WC_SUCCESS);
  expect_broken("no credit");
}

TEST_F(HostileSender, AMessageInPlaceOfAFrame) {
  peer_->send(100);
  expect_ended();
}

/// The byte of this process at an address beside the ring; nothing where no memory is mapped or it is not readable.
std::optional<std::byte> byte_at(std::uint64_t address) {
  std::byte byte{};
  const iovec here{.iov_base = &byte, .iov_len = 1};
  const iovec there{.iov_base = reinterpret_cast<void*>(address), .iov_len = 1};
  return ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == 1 ? std::optional(byte) : std::nullopt;
}

/// The viewer's own memory.
std::span<const std::byte> ring_at(std::uint64_t address, std::size_t bytes) {
  return {reinterpret_cast<const std::byte*>(address), bytes};
}

bool is_zero(std::byte byte) {
  return byte == std::byte{0};
}

/// Unmapped guards lie on either side of a ring, so a write there would have ended the program. A refused write must
/// leave nothing, not even the bytes that would have fitted.
TEST_F(HostileSender, AWriteOneBytePastTheWindow) {
  const std::uint64_t end = access_.payload_address + slot_stride_bytes(slot_bytes) * ring_slots;
  ASSERT_FALSE(byte_at(end)) << "no guard";
  ASSERT_TRUE(byte_at(end - 1));
  std::ranges::fill(peer_->memory(), std::byte{0xa5});
  EXPECT_EQ(peer_->write(end - 100, access_.payload_key, 101), IBV_WC_REM_ACCESS_ERR);
  expect_ended();
  EXPECT_TRUE(std::ranges::all_of(ring_at(end - 100, 100), is_zero));
}

TEST_F(HostileSender, AWriteBeforeTheWindow) {
  ASSERT_FALSE(byte_at(access_.payload_address - 1)) << "no guard";
  std::ranges::fill(peer_->memory(), std::byte{0xa5});
  EXPECT_EQ(peer_->write(access_.payload_address - 1, access_.payload_key, 2), IBV_WC_REM_ACCESS_ERR);
  expect_ended();
  EXPECT_TRUE(std::ranges::all_of(ring_at(access_.payload_address, 1), is_zero));
}

TEST_F(HostileSender, AGuessedKey) {
  EXPECT_EQ(peer_->write(access_.payload_address, access_.payload_key + 1, 100), IBV_WC_REM_ACCESS_ERR);
  expect_ended();
}

TEST_F(HostileSender, AKeyForOtherMemory) {
  EXPECT_EQ(peer_->write(access_.payload_address, access_.cells_key, 100), IBV_WC_REM_ACCESS_ERR);
  expect_ended();
}

TEST_F(HostileSender, ReadingWhatMayOnlyBeWritten) {
  const auto status = peer_->read(access_.payload_address, access_.payload_key, 100);
  EXPECT_TRUE(status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR) << ibv_wc_status_str(*status);
  expect_ended();
}

/// The ring of the previous format is revoked when the first frame of the next format arrives.
TEST_F(HostileSender, ARevokedKey) {
  const RingAccess old = access_;
  access_ = *ring_access_from(receiver_->begin_epoch(2, slot_bytes, ring_slots, {}));
  ASSERT_EQ(announce(header_of(2, 0, 10), {.epoch = 2}), IBV_WC_SUCCESS);
  ASSERT_TRUE(eventually([&] { return receiver_->poll().has_value(); }));
  EXPECT_EQ(peer_->write(old.payload_address, old.payload_key, 100), IBV_WC_REM_ACCESS_ERR);
  expect_ended();
}

/// A peer with its own session uses the keys of another session.
TEST_F(HostileSender, AnotherSessionsKey) {
  RdmaConnectionPair other = rdma_connection_pair(protection_domains_);
  VerbsPeer unrecognized(std::move(other.accepted));
  RdmaReceiver unauthenticated_viewer(std::move(other.dialled), false);
  EXPECT_EQ(unrecognized.write(access_.payload_address, access_.payload_key, 100), IBV_WC_REM_ACCESS_ERR);
  EXPECT_TRUE(eventually([&] {
    unauthenticated_viewer.maintain();
    unauthenticated_viewer.poll();
    return unauthenticated_viewer.state() != LinkState::open;
  }));
  // The session that owns the keys is not affected.
  ASSERT_EQ(announce(header_of(1, 0, 10), {.epoch = 1}), IBV_WC_SUCCESS);
  ASSERT_TRUE(eventually([&] { return receiver_->poll().has_value(); }));
  EXPECT_EQ(receiver_->state(), LinkState::open);
}

TEST_F(HostileSender, MoreAnnouncementsThanAnybodyTakes) {
  for (int i = 0; i < 2000 && receiver_->state() == LinkState::open; ++i) {
    const auto status = announce(header_of(1, 0, 10), {.epoch = 1});
    if (status != IBV_WC_SUCCESS) {
      break;
    }
    receiver_->arm();  // as a program does before it waits
  }
  EXPECT_TRUE(eventually([&] {
    while (receiver_->poll()) {
    }
    return receiver_->state() == LinkState::broken;
  }));
}

// ---- A hostile viewer ----

class HostileViewer : public testing::Test {
 protected:
  HostileViewer() {
    RdmaConnectionPair pair = rdma_connection_pair(protection_domains_);
    sender_ = std::make_unique<RdmaSender>(std::move(pair.accepted), protection_domains_);
    peer_ = std::make_unique<VerbsPeer>(std::move(pair.dialled));
    sender_->begin_epoch(pool_);
    ring_ = register_memory(peer_->protection_domain(), HostBlock::create_private("ring", 1 << 20),
                            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    access_ = {.payload_address = reinterpret_cast<std::uint64_t>(ring_->mr->addr),
               .payload_key = ring_->mr->rkey,
               .cells_address = reinterpret_cast<std::uint64_t>(ring_->mr->addr) + (1 << 19),
               .cells_key = ring_->mr->rkey,
               .cells_per_slot = 4,
               .receive_depth = 16};
  }

  OutgoingFrame frame() {
    const auto index = pool_->claim();
    OutgoingFrame outgoing{
        .header = header_of(1, 0, slot_bytes), .payload = pool_->payload(*index, slot_bytes), .pool_slot = {1, *index}};
    return outgoing;
  }

  void poll_released() {
    std::array<PoolSlot, 8> released;
    sender_->poll_released(released);
  }

  void expect_fault(LinkState wanted, const std::string& word) {
    EXPECT_TRUE(eventually([&] {
      sender_->maintain();
      poll_released();
      return sender_->state() != LinkState::open;
    }));
    EXPECT_EQ(sender_->state(), wanted);
    EXPECT_NE(sender_->fault().find(word), std::string::npos) << sender_->fault();
    EXPECT_EQ(sender_->try_send(frame()), SendResult::closed);
  }

  SenderProtectionDomains protection_domains_;
  std::shared_ptr<Pool> pool_ = std::make_shared<Pool>(1, slot_bytes, 8);
  std::unique_ptr<RdmaSender> sender_;
  std::unique_ptr<VerbsPeer> peer_;
  std::shared_ptr<const MemoryRegion> ring_;
  RingAccess access_;
};

TEST_F(HostileViewer, AGoodOneGetsItsFrame) {
  sender_->epoch_ready(1, 2, describe(access_));
  ASSERT_EQ(sender_->try_send(frame()), SendResult::accepted);
  poll_released();
  EXPECT_EQ(peer_->send_immediate(encode({.epoch = 1, .slot = 0})), IBV_WC_SUCCESS);
  EXPECT_TRUE(eventually([&] {
    poll_released();
    return sender_->frames_acknowledged() == 1;
  }));
  EXPECT_EQ(sender_->state(), LinkState::open);
}

TEST_F(HostileViewer, NoWordOfItsRing) {
  sender_->epoch_ready(1, 2, {});
  expect_fault(LinkState::broken, "where its ring is");
}

TEST_F(HostileViewer, ARingWithoutCells) {
  access_.cells_per_slot = 0;
  sender_->epoch_ready(1, 2, describe(access_));
  expect_fault(LinkState::broken, "where its ring is");
}

TEST_F(HostileViewer, AWrongKey) {
  access_.payload_key += 77;
  sender_->epoch_ready(1, 2, describe(access_));
  ASSERT_EQ(sender_->try_send(frame()), SendResult::accepted);
  expect_fault(LinkState::lost, "does not allow");
}

TEST_F(HostileViewer, ACreditForWhatItDoesNotHold) {
  sender_->epoch_ready(1, 2, describe(access_));
  ASSERT_EQ(sender_->try_send(frame()), SendResult::accepted);
  EXPECT_EQ(peer_->send_immediate(encode({.epoch = 1, .slot = 1})), IBV_WC_SUCCESS);
  expect_fault(LinkState::broken, "does not hold");
}

TEST_F(HostileViewer, ACreditTwice) {
  sender_->epoch_ready(1, 2, describe(access_));
  ASSERT_EQ(sender_->try_send(frame()), SendResult::accepted);
  poll_released();
  EXPECT_EQ(peer_->send_immediate(encode({.epoch = 1, .slot = 0})), IBV_WC_SUCCESS);
  EXPECT_EQ(peer_->send_immediate(encode({.epoch = 1, .slot = 0})), IBV_WC_SUCCESS);
  expect_fault(LinkState::broken, "does not hold");
}

TEST_F(HostileViewer, ACreditBeforeThereIsARing) {
  EXPECT_EQ(peer_->send_immediate(encode({.epoch = 1, .slot = 0})), IBV_WC_SUCCESS);
  expect_fault(LinkState::broken, "does not hold");
}

TEST_F(HostileViewer, AMessageWithoutACredit) {
  EXPECT_EQ(peer_->send(0), IBV_WC_SUCCESS);
  expect_fault(LinkState::broken, "gives nothing back");
}

TEST_F(HostileViewer, ReadingThePool) {
  const auto memory_region = protection_domains_.memory_region_of(
      protection_domains_.protection_domain_of(ring_->mr->context), pool_->block());
  const auto status =
      peer_->read(reinterpret_cast<std::uint64_t>(memory_region->mr->addr), memory_region->mr->rkey, 100);
  EXPECT_TRUE(status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR) << ibv_wc_status_str(*status);
}

TEST_F(HostileViewer, WritingIntoThePool) {
  const auto memory_region = protection_domains_.memory_region_of(
      protection_domains_.protection_domain_of(ring_->mr->context), pool_->block());
  EXPECT_EQ(peer_->write(reinterpret_cast<std::uint64_t>(memory_region->mr->addr), memory_region->mr->rkey, 100),
            IBV_WC_REM_ACCESS_ERR);
  EXPECT_TRUE(std::ranges::all_of(pool_->slot(0), [](std::byte byte) { return byte == std::byte{0}; }));
}

/// A sender never announces before the viewer has posted a receive. Here the viewer reports two receives.
TEST_F(HostileViewer, NoMoreThanItIsReadyToHear) {
  access_.receive_depth = 2;
  sender_->epoch_ready(1, 4, describe(access_));
  EXPECT_EQ(sender_->try_send(frame()), SendResult::accepted);
  EXPECT_EQ(sender_->try_send(frame()), SendResult::accepted);
  EXPECT_EQ(sender_->try_send(frame()), SendResult::no_credit);
}

/// One frame on the wire, and the next one. Only poll_released() makes room for more.
TEST_F(HostileViewer, ABoundedQueueHoldsTwoFrames) {
  constexpr int slots = 8;
  sender_->bound_send_queue();
  sender_->epoch_ready(1, slots, describe(access_));
  const OutgoingFrame one_more = frame();
  for (int credits = slots; credits >= 3; credits -= 2) {  // with fewer credits, these would be the bound
    EXPECT_EQ(sender_->try_send(frame()), SendResult::accepted);
    EXPECT_EQ(sender_->try_send(frame()), SendResult::accepted);
    EXPECT_EQ(sender_->try_send(one_more), SendResult::no_credit);
    std::size_t released = 0;
    EXPECT_TRUE(eventually([&] {
      std::array<PoolSlot, slots> places;
      released += sender_->poll_released(places);
      return released >= 2;
    }));
  }
  EXPECT_EQ(sender_->state(), LinkState::open);
}

}  // namespace
}  // namespace framewire::test
