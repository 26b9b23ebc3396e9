// Read mode on real verbs: what a viewer that pulls gets, from an honest sender, a fast one and a hostile one, and what
// a hostile viewer can do to a sender that lets itself be read.
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <cstring>
#include <optional>
#include <thread>

#include "base/clock.hpp"
#include "base/file_descriptor.hpp"
#include "frame/stamp.hpp"
#include "tests/base/eventually.hpp"
#include "tests/contract/link_pairs.hpp"
#include "tests/rdma_lab/raw_peer.hpp"
#include "transport/rdma/rdma_exposure.hpp"
#include "transport/rdma/rdma_puller.hpp"
#include "transport/stream.hpp"

namespace framewire::test {
namespace {

constexpr std::int64_t at_once_ns = 1;  // from one look to the next

/// Both ends of one pull connection, whose ends are made by the tests.
class Pulling : public testing::Test {
 protected:
  explicit Pulling(const RdmaWishes& wishes = {}) {
    RdmaConnectionPair pair = rdma_connection_pair(domains_, wishes, false);
    accepted_ = std::move(pair.accepted);
    dialled_ = std::move(pair.dialled);
  }

  void make_exposure() { exposure_ = std::make_unique<RdmaExposure>(std::move(accepted_), domains_); }
  void make_puller(std::int64_t interval_ns = at_once_ns) {
    puller_ = std::make_unique<RdmaPuller>(std::move(dialled_), interval_ns, false);
  }

  std::optional<IncomingFrame> next_frame() {
    std::optional<IncomingFrame> frame;
    eventually([&] { return (frame = puller_->poll()).has_value() || puller_->state() != LinkState::open; });
    return frame;
  }

  /// The link ends by itself, with a sentence that has `word` in it, and hands no frame out.
  void expect_puller_ends(LinkState wanted, const std::string& word) {
    EXPECT_FALSE(next_frame());
    EXPECT_EQ(puller_->state(), wanted);
    EXPECT_NE(puller_->fault().find(word), std::string::npos) << puller_->fault();
  }

  SenderDomains domains_{PoolReaders::viewers};
  std::unique_ptr<RdmaConnection> accepted_;
  std::unique_ptr<RdmaConnection> dialled_;
  std::unique_ptr<RdmaExposure> exposure_;
  std::unique_ptr<RdmaPuller> puller_;
};

// ---- An honest sender ----

/// A stream with a viewer that pulls, and frames of stamped bytes.
class PullingAStream : public Pulling {
 protected:
  explicit PullingAStream(const RdmaWishes& wishes = {}) : Pulling(wishes) {
    make_exposure();
    make_puller();
    EXPECT_TRUE(stream_.add_puller(wake_.get()));
  }
  ~PullingAStream() override { stream_.remove_puller(wake_.get()); }

  void begin_epoch(std::uint64_t bytes) {
    bytes_ = bytes;
    stream_.begin_epoch({.layout = bytes_layout(bytes), .colour = {}});
    const auto epoch = stream_.epoch_after(epoch_);
    ASSERT_TRUE(epoch);
    epoch_ = epoch->number;
    puller_->begin_epoch(epoch->number, epoch->pool->slot_bytes(), 2, exposure_->open(epoch->pool));
    exposure_->close_earlier();
    puller_->epoch_is_ready();
  }

  void publish() {
    auto slot = stream_.claim();
    ASSERT_TRUE(slot);
    stamp(slot->bytes().first(bytes_), slot->next_sequence());
    stream_.publish(std::move(*slot),
                    {.user_tag = stamped_frame_tag, .is_stamped = true, .layout = bytes_layout(bytes_)});
  }

  void expect_whole(const IncomingFrame& frame) const {
    EXPECT_EQ(frame.payload.size(), frame.header.layout.size_bytes);
    EXPECT_FALSE(find_torn_line(frame.payload, frame.header.sequence)) << "frame " << frame.header.sequence;
  }

  FileDescriptor wake_ = make_event();
  Stream stream_{{.name = "pulled", .slots_per_viewer = 1, .max_viewers = 1, .allows_pull = true}};
  std::uint32_t epoch_ = 0;
  std::uint64_t bytes_ = 0;
};

TEST_F(PullingAStream, EveryFrameThatItHasTimeFor) {
  for (const std::uint64_t bytes :
       {std::uint64_t{1}, std::uint64_t{100}, std::uint64_t{4097}, std::uint64_t{3'000'000}}) {
    begin_epoch(bytes);
    for (int i = 0; i < 5; ++i) {
      publish();
      const auto frame = next_frame();
      ASSERT_TRUE(frame) << puller_->fault();
      EXPECT_EQ(frame->payload.size(), bytes);
      EXPECT_EQ(frame->header.sequence + 1, stream_.frames_produced());
      expect_whole(*frame);
      puller_->give_back(frame->header);
    }
  }
  EXPECT_EQ(puller_->frames_discarded(), 0U);
}

TEST_F(PullingAStream, TheSameFrameOnlyOnce) {
  begin_epoch(100);
  publish();
  const auto frame = next_frame();
  ASSERT_TRUE(frame);
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(puller_->poll());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST_F(PullingAStream, TheNewestAndNoneBefore) {
  begin_epoch(100);
  for (int i = 0; i < 30; ++i) {
    publish();
  }
  const auto frame = next_frame();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->header.sequence, 29U);
}

TEST_F(PullingAStream, NoRoomNoLook) {
  begin_epoch(100);
  std::vector<IncomingFrame> held;
  for (int i = 0; i < 2; ++i) {
    publish();
    held.push_back(*next_frame());
  }
  publish();
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(puller_->poll());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (const IncomingFrame& frame : held) {
    expect_whole(frame);  // what is held here is not read over
  }
  puller_->give_back(held.front().header);
  const auto frame = next_frame();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->header.sequence, 2U);
}

TEST_F(PullingAStream, NothingBeforeTheProgramIsReady) {
  stream_.begin_epoch({.layout = bytes_layout(100), .colour = {}});
  const auto epoch = stream_.epoch_after(0);
  puller_->begin_epoch(epoch->number, 100, 2, exposure_->open(epoch->pool));
  bytes_ = 100;
  publish();
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(puller_->poll());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  puller_->epoch_is_ready();
  EXPECT_TRUE(next_frame());
}

TEST_F(PullingAStream, ASleeperIsWokenByItsTimerAndByEveryRead) {
  begin_epoch(100'000);
  publish();
  std::optional<IncomingFrame> frame;
  for (int wakes = 0; wakes < 100 && !frame; ++wakes) {
    frame = puller_->poll();
    if (!frame && puller_->arm()) {
      pollfd readable{.fd = puller_->descriptor(), .events = POLLIN, .revents = 0};
      ASSERT_EQ(::poll(&readable, 1, 10'000), 1) << "nothing woke it";
    }
  }
  EXPECT_TRUE(frame);
}

/// A source that is much faster than the wire, and has few slots: frames are overwritten while they are read. That it
/// happens is counted; that it shows never.
TEST_F(PullingAStream, NothingTornFromASourceThatOverwrites) {
  begin_epoch(2'000'000);
  std::atomic<bool> stop = false;
  std::thread source([&] {
    while (!stop) {
      publish();
    }
  });
  const bool has_overwritten = eventually([&] {
    if (const auto frame = puller_->poll()) {
      expect_whole(*frame);
      puller_->give_back(frame->header);
    }
    return puller_->frames_discarded() >= 5;
  });
  stop = true;
  source.join();
  EXPECT_TRUE(has_overwritten) << puller_->frames_discarded() << " discarded: the test has shown nothing";
  const auto frame = next_frame();
  ASSERT_TRUE(frame) << puller_->fault();
  expect_whole(*frame);
}

TEST_F(PullingAStream, AnEarlierPoolIsNotReadAnyMore) {
  begin_epoch(1'000'000);
  publish();
  puller_->poll();  // a look is under way
  begin_epoch(500);
  publish();
  const auto frame = next_frame();
  ASSERT_TRUE(frame) << puller_->fault();
  EXPECT_EQ(frame->header.epoch, 2U);
  EXPECT_EQ(exposure_->state(), LinkState::open);
}

TEST_F(PullingAStream, AFrameThatIsHeldOutlivesItsFormat) {
  begin_epoch(1000);
  publish();
  const auto frame = next_frame();
  ASSERT_TRUE(frame);
  begin_epoch(2000);
  publish();
  const auto later = next_frame();
  ASSERT_TRUE(later);
  expect_whole(*frame);
  puller_->give_back(frame->header);
  expect_whole(*later);
}

TEST_F(PullingAStream, EachEndHearsThatTheOtherIsGone) {
  begin_epoch(100);
  puller_.reset();
  EXPECT_TRUE(eventually([&] { return exposure_->state() == LinkState::closed; }));
  EXPECT_NE(exposure_->fault().find("the viewer"), std::string::npos);
}

TEST_F(PullingAStream, ASenderThatIsGoneIsNamed) {
  begin_epoch(100);
  exposure_.reset();
  EXPECT_TRUE(eventually([&] {
    puller_->poll();
    return puller_->state() != LinkState::open;
  }));
  EXPECT_NE(puller_->fault().find("the sender"), std::string::npos);
}

/// Whoever waits for a sender to come back sleeps.
TEST_F(PullingAStream, AfterTheEndNothingWakes) {
  begin_epoch(100);
  exposure_.reset();
  ASSERT_TRUE(eventually([&] {
    puller_->poll();
    return puller_->state() != LinkState::open;
  }));
  ASSERT_TRUE(eventually([&] { return puller_->arm(); }));
  pollfd readable{.fd = puller_->descriptor(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&readable, 1, 300), 0);
}

TEST_F(PullingAStream, ASleeperIsWokenWhenTheProgramIsReadyAndWhenThereIsRoom) {
  stream_.begin_epoch({.layout = bytes_layout(100), .colour = {}});
  bytes_ = 100;
  const auto epoch = stream_.epoch_after(0);
  puller_->begin_epoch(epoch->number, 100, 1, exposure_->open(epoch->pool));
  publish();
  const auto is_readable = [&](int timeout_ms = 0) {
    pollfd readable{.fd = puller_->descriptor(), .events = POLLIN, .revents = 0};
    return ::poll(&readable, 1, timeout_ms) == 1;
  };
  ASSERT_TRUE(eventually([&] { return puller_->arm() && !is_readable(); }));
  puller_->epoch_is_ready();
  EXPECT_TRUE(is_readable(100));
  const auto frame = next_frame();
  ASSERT_TRUE(frame);
  ASSERT_TRUE(eventually([&] { return puller_->arm() && !is_readable(); }));
  puller_->give_back(frame->header);
  EXPECT_TRUE(is_readable(100));
  puller_->give_back(frame->header);  // once is enough
  publish();
  ASSERT_TRUE(next_frame());
  EXPECT_FALSE(puller_->poll());
}

/// As over iWARP, whose way of announcing read mode does not need.
class PullingWithoutImmediates : public PullingAStream {
 protected:
  PullingWithoutImmediates() : PullingAStream({.immediates = false, .windows = false}) {}
};

TEST_F(PullingWithoutImmediates, FramesComeAndThePlainRegistrationIsSaid) {
  begin_epoch(1000);
  publish();
  const auto frame = next_frame();
  ASSERT_TRUE(frame) << puller_->fault();
  expect_whole(*frame);
  EXPECT_EQ(puller_->note(), " mode=pull ring=registration");
}

/// A device that gives little: eight requests, reads of a thousand bytes.
class PullingWithLittle : public PullingAStream {
 protected:
  PullingWithLittle() : PullingAStream({.queue_depth = 8, .inline_bytes = 0, .chunk_bytes = 1000}) {}
};

TEST_F(PullingWithLittle, ManyReadsForAFrame) {
  begin_epoch(123'456);
  for (int i = 0; i < 3; ++i) {
    publish();
    const auto frame = next_frame();
    ASSERT_TRUE(frame) << puller_->fault();
    expect_whole(*frame);
    puller_->give_back(frame->header);
  }
}

// ---- A hostile sender ----

constexpr std::uint64_t slot_bytes = 10'000;

class HostileExposer : public Pulling {
 protected:
  HostileExposer() {
    peer_ = std::make_unique<RawPeer>(std::move(accepted_));
    make_puller();
    const auto open = [&](const std::shared_ptr<HostBlock>& block) {
      return register_block(peer_->domain(), block, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
    };
    payload_ = open(pool_.block());
    board_ = open(pool_.board()->block());
    access_ = {.payload_address = reinterpret_cast<std::uint64_t>(payload_->region->addr),
               .payload_key = payload_->region->rkey,
               .board_address = reinterpret_cast<std::uint64_t>(board_->region->addr),
               .board_key = board_->region->rkey,
               .slots = pool_.slot_count()};
  }

  void begin(std::optional<PoolAccess> access) {
    puller_->begin_epoch(1, slot_bytes, 2, access);
    puller_->epoch_is_ready();
  }
  std::uint16_t put_up(const FrameHeader& header) {
    const auto slot = pool_.claim();
    pool_.put_up(*slot, header);
    pool_.release(*slot);
    return *slot;
  }
  [[nodiscard]] std::span<std::byte> board_memory() const { return board_->block->bytes(); }

  Pool pool_{1, slot_bytes, 4, true};
  std::unique_ptr<RawPeer> peer_;
  std::shared_ptr<const Registration> payload_;
  std::shared_ptr<const Registration> board_;
  PoolAccess access_;
};

TEST_F(HostileExposer, AGoodOneIsRead) {
  begin(access_);
  put_up(header_of(1, 0, 100));
  EXPECT_TRUE(next_frame()) << puller_->fault();
}

TEST_F(HostileExposer, NoPoolAtAll) {
  EXPECT_THROW(begin(std::nullopt), Error);
  access_.slots = 0;
  EXPECT_THROW(begin(access_), Error);
  access_.slots = max_pool_slots + 1;
  EXPECT_THROW(begin(access_), Error);
}

TEST_F(HostileExposer, ANewestFrameInNoSlot) {
  begin(access_);
  const std::uint64_t newest = std::uint64_t{1} << 16 | 4;
  std::memcpy(board_memory().data(), &newest, sizeof newest);
  expect_puller_ends(LinkState::broken, "in none of its slots");
}

TEST_F(HostileExposer, AHeaderThatIsNone) {
  begin(access_);
  const std::uint16_t slot = put_up(header_of(1, 0, 100));
  std::memset(board_memory().data() + board_cell_offset_bytes(slot) + board_generation_bytes, 0x55, 100);
  expect_puller_ends(LinkState::broken, "no frame header");
}

TEST_F(HostileExposer, AFrameLargerThanASlot) {
  begin(access_);
  put_up(header_of(1, 0, slot_bytes + 1));
  expect_puller_ends(LinkState::broken, "does not belong");
}

TEST_F(HostileExposer, AFrameOfAnotherEpoch) {
  begin(access_);
  put_up(header_of(2, 0, 100));
  expect_puller_ends(LinkState::broken, "does not belong");
}

TEST_F(HostileExposer, OneSliceOfAFrame) {
  begin(access_);
  FrameHeader header = header_of(1, 0, 100);
  header.slice_count = 2;
  header.slice_bytes = 50;
  put_up(header);
  expect_puller_ends(LinkState::broken, "does not belong");
}

/// The newest cell names a frame that its slot's cell never shows: there is nothing to read, and nothing to hang on.
TEST_F(HostileExposer, ACellThatNeverAgrees) {
  begin(access_);
  put_up(header_of(1, 0, 100));
  const std::uint64_t newest = std::uint64_t{77} << 16;
  std::memcpy(board_memory().data(), &newest, sizeof newest);
  EXPECT_TRUE(eventually([&] {
    EXPECT_FALSE(puller_->poll());
    return puller_->frames_discarded() >= 10;
  }));
  EXPECT_EQ(puller_->state(), LinkState::open);
}

TEST_F(HostileExposer, KeysThatOpenNothing) {
  access_.board_key ^= 0x100;
  begin(access_);
  expect_puller_ends(LinkState::lost, "does not allow");
}

TEST_F(HostileExposer, APayloadThatMayNotBeRead) {
  access_.payload_address += std::uint64_t{1} << 40;
  begin(access_);
  put_up(header_of(1, 0, 1000));
  expect_puller_ends(LinkState::lost, "does not allow");
}

TEST_F(HostileExposer, WritingToWhomItShows) {
  begin(access_);
  EXPECT_NE(peer_->write(access_.payload_address, access_.payload_key, 100), IBV_WC_SUCCESS);
  EXPECT_TRUE(eventually([&] {
    puller_->poll();
    return puller_->state() != LinkState::open;
  }));
}

// ---- A hostile viewer ----

class HostilePuller : public Pulling {
 protected:
  HostilePuller() {
    make_exposure();
    peer_ = std::make_unique<RawPeer>(std::move(dialled_));
    std::memset(pool_->slot(0).data(), 0x11, slot_bytes);
    access_ = exposure_->open(pool_);
  }

  /// The device has refused it, and ended this session; the pool is what it was.
  void expect_refused(std::optional<ibv_wc_status> status) {
    ASSERT_TRUE(status);
    EXPECT_TRUE(*status == IBV_WC_REM_ACCESS_ERR || *status == IBV_WC_REM_INV_REQ_ERR) << ibv_wc_status_str(*status);
    EXPECT_EQ(pool_->slot(0)[0], std::byte{0x11});
  }

  std::shared_ptr<Pool> pool_ = std::make_shared<Pool>(1, slot_bytes, 4, true);
  std::unique_ptr<RawPeer> peer_;
  PoolAccess access_;
};

TEST_F(HostilePuller, AGoodOneReads) {
  EXPECT_EQ(peer_->read(access_.payload_address, access_.payload_key, 100), IBV_WC_SUCCESS);
  EXPECT_EQ(peer_->memory()[0], std::byte{0x11});
  EXPECT_EQ(peer_->read(access_.board_address, access_.board_key, newest_cell_bytes), IBV_WC_SUCCESS);
}

TEST_F(HostilePuller, WritingAFrame) {
  expect_refused(peer_->write(access_.payload_address, access_.payload_key, 100));
}

TEST_F(HostilePuller, WritingTheBoard) {
  expect_refused(peer_->write(access_.board_address, access_.board_key, 100));
}

TEST_F(HostilePuller, ReadingPastTheEnd) {
  expect_refused(peer_->read(access_.payload_address + pool_->block()->bytes().size() - 10, access_.payload_key, 100));
}

TEST_F(HostilePuller, ReadingAPoolThatIsNotOpen) {
  SenderDomains closed;
  RdmaConnectionPair other = rdma_connection_pair(closed);
  const auto registration = closed.registration_of(other.accepted->domain(), pool_->block());
  expect_refused(
      peer_->read(reinterpret_cast<std::uint64_t>(registration->region->addr), registration->region->rkey, 100));
}

TEST_F(HostilePuller, ReadingAnEarlierPool) {
  const auto next = std::make_shared<Pool>(2, slot_bytes, 4, true);
  exposure_->open(next);
  exposure_->close_earlier();
  expect_refused(peer_->read(access_.payload_address, access_.payload_key, 100));
}

/// Nobody has posted a receive for it: it is not heard, and holds up only itself.
TEST_F(HostilePuller, TalkingInsteadOfReading) {
  SenderDomains domains(PoolReaders::viewers);
  RdmaConnectionPair pair = rdma_connection_pair(domains, {}, false);
  RdmaExposure exposure(std::move(pair.accepted), domains);
  RdmaPuller honest(std::move(pair.dialled), at_once_ns, false);
  const PoolAccess access = exposure.open(pool_);
  honest.begin_epoch(1, slot_bytes, 2, access);
  honest.epoch_is_ready();
  std::thread talker([&] { peer_->send_immediate(1); });
  const auto slot = pool_->claim();
  pool_->put_up(*slot, header_of(1, 0, 100));
  EXPECT_TRUE(eventually([&] { return honest.poll().has_value(); }));
  exposure_.reset();  // ends the talker's request
  talker.join();
}

}  // namespace
}  // namespace framewire::test
