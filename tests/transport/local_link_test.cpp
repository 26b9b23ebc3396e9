// A local receiver with a hostile sender, and a local sender with a hostile viewer.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <limits>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "tests/base/eventually.hpp"
#include "tests/contract/link_pairs.hpp"
#include "transport/local/descriptor_passing.hpp"
#include "transport/local/local_receiver.hpp"
#include "transport/local/local_sender.hpp"
#include "transport/local/shared_pages.hpp"
#include "transport/local/wake_socket.hpp"

namespace framewire::test {
namespace {

constexpr std::uint64_t slot_bytes = 4096;
constexpr int more_than_a_socket_holds = 10'000;  // wake-ups

/// Returns true when `function` returns in time. Otherwise it ends the program, since the thread could not be joined.
bool ends_in_time(const std::function<void()>& function) {
  auto running = std::async(std::launch::async, function);
  if (running.wait_for(std::chrono::nanoseconds(timeout_ns)) == std::future_status::ready) {
    return true;
  }
  ADD_FAILURE() << "it waits for its peer";
  std::_Exit(1);
}

/// The test plays the sender by hand. The receiver has accepted its greeting.
class HostileLocalSender : public testing::Test {
 protected:
  HostileLocalSender() {
    auto [a, b] = unix_socket_pair();
    socket_ = std::move(a);
    auto [own_end, viewers_end] = make_wake_sockets();
    own_end_ = std::move(own_end);
    viewers_end_ = std::move(viewers_end);
    greet(viewers_end_.get());
    receiver_ = std::make_unique<LocalReceiver>(std::move(b), monotonic_ns() + 5 * ns_per_s);
  }

  void greet(int wake_socket, const LocalHello& hello = {}) {
    const std::array descriptors{cells_->memfd(), acknowledgements_->memfd(), wake_socket};
    send_with_descriptors(socket_.get(), record_bytes(hello), descriptors);
  }

  /// The receiver's error for this greeting; empty if it accepts it.
  std::string refusal_of(int wake_socket, const LocalHello& hello = {}) {
    auto [a, b] = unix_socket_pair();
    socket_ = std::move(a);
    greet(wake_socket, hello);
    try {
      LocalReceiver(std::move(b), monotonic_ns() + 5 * ns_per_s);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  void hand_over(const std::function<void(LocalPool&)>& change = {}) {
    LocalPool record{.epoch = 1, .slot_bytes = slot_bytes, .stride_bytes = slot_bytes, .slot_count = 2};
    if (change) {
      change(record);
    }
    const std::array descriptors{pool_->memfd()};
    send_with_descriptors(socket_.get(), record_bytes(record), descriptors);
  }

  /// Whether the receiver refuses the pool that was handed over.
  bool refuses() {
    try {
      receiver_->begin_epoch(1, slot_bytes, 2, {});
    } catch (const Error&) {
      return true;
    }
    return false;
  }

  LocalCells& cells() { return *reinterpret_cast<LocalCells*>(cells_->bytes().data()); }

  void announce(const std::function<void(FrameHeader&)>& change = {}) {
    FrameHeader header;
    header.epoch = 1;
    header.layout = bytes_layout(slot_bytes);
    header.slice_bytes = slot_bytes;
    if (change) {
      change(header);
    }
    encode(header, cells().cells[0]);
    cells().published.store(1);
  }

  std::shared_ptr<HostBlock> cells_ = HostBlock::create("cells", sizeof(LocalCells));
  std::shared_ptr<HostBlock> acknowledgements_ =
      HostBlock::create_shared_writable("acknowledgements", sizeof(LocalAcknowledgements));
  std::shared_ptr<HostBlock> pool_ = HostBlock::create("pool", 2 * slot_bytes);
  FileDescriptor own_end_;
  FileDescriptor viewers_end_;  // an honest sender closes it
  FileDescriptor socket_;
  std::unique_ptr<LocalReceiver> receiver_;
};

TEST_F(HostileLocalSender, AGoodFrameIsTaken) {
  hand_over();
  ASSERT_FALSE(refuses());
  announce();
  EXPECT_TRUE(receiver_->poll());
  EXPECT_EQ(receiver_->state(), LinkState::open);
}

TEST_F(HostileLocalSender, AStrideThatIsNotTheSlotsIsRefused) {
  // Two slots of the first stride take 8192 bytes, modulo 2^64.
  for (const std::uint64_t stride : {(std::uint64_t{1} << 63) + slot_bytes, std::uint64_t{0}, slot_bytes - 1,
                                     2 * slot_bytes, std::numeric_limits<std::uint64_t>::max()}) {
    hand_over([&](LocalPool& record) { record.stride_bytes = stride; });
    EXPECT_TRUE(refuses()) << stride;
  }
}

TEST_F(HostileLocalSender, APoolThatIsNotTheAnnouncedOneIsRefused) {
  hand_over([](LocalPool& record) { record.slot_count = 0; });
  EXPECT_TRUE(refuses());
  hand_over([](LocalPool& record) { record.slot_count = 3; });  // one more than fits into the memory
  EXPECT_TRUE(refuses());
  hand_over([](LocalPool& record) { record.epoch = 2; });
  EXPECT_TRUE(refuses());
  hand_over([](LocalPool& record) { record.slot_bytes = 2 * slot_bytes; });
  EXPECT_TRUE(refuses());
  hand_over([](LocalPool& record) { record.magic = 1; });
  EXPECT_TRUE(refuses());
}

TEST_F(HostileLocalSender, SlotsOfOneByteAreTakenAndOfNoneRefused) {
  const auto refuses_slots_of = [&](std::uint64_t bytes) {
    hand_over([&](LocalPool& record) {
      record.slot_bytes = bytes;
      record.stride_bytes = slot_stride_bytes(bytes);
    });
    try {
      receiver_->begin_epoch(1, bytes, 2, {});
    } catch (const Error&) {
      return true;
    }
    return false;
  };
  EXPECT_TRUE(refuses_slots_of(0));
  EXPECT_FALSE(refuses_slots_of(1));
}

TEST_F(HostileLocalSender, APoolWithoutItsMemoryIsNoWantOfDescriptors) {
  const LocalPool record{.epoch = 1, .slot_bytes = slot_bytes, .stride_bytes = slot_bytes, .slot_count = 2};
  ASSERT_EQ(::send(socket_.get(), &record, sizeof record, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof record));
  try {
    receiver_->begin_epoch(1, slot_bytes, 2, {});
    FAIL() << "it was taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("something else than its shared memory"), std::string::npos)
        << error.what();
  }
}

TEST_F(HostileLocalSender, APoolThatDoesNotComeIsNotWaitedForByWhoStops) {
  int asked = 0;
  receiver_->set_stop_check([&] { return ++asked == 2; });
  EXPECT_THROW(receiver_->begin_epoch(1, slot_bytes, 2, {}), AllocationStopped);
  EXPECT_EQ(asked, 2);
}

TEST_F(HostileLocalSender, ASlotOutsideThePoolEndsTheSession) {
  hand_over();
  ASSERT_FALSE(refuses());
  announce([](FrameHeader& header) { header.slot = 2; });
  EXPECT_FALSE(receiver_->poll());
  EXPECT_EQ(receiver_->state(), LinkState::broken);
}

TEST_F(HostileLocalSender, SlicesThatDoNotTileEndTheSession) {
  hand_over();
  ASSERT_FALSE(refuses());
  announce([](FrameHeader& header) { header.slice_count = 2; });
  EXPECT_FALSE(receiver_->poll());
  EXPECT_EQ(receiver_->state(), LinkState::broken);
  EXPECT_NE(receiver_->fault().find("overlaps others or leaves a gap"), std::string::npos) << receiver_->fault();
}

TEST_F(HostileLocalSender, MoreCellsThanThereAreEndTheSession) {
  hand_over();
  ASSERT_FALSE(refuses());
  cells().published.store(local_cell_count + 1);
  EXPECT_FALSE(receiver_->poll());
  EXPECT_EQ(receiver_->state(), LinkState::broken);
}

TEST_F(HostileLocalSender, ThatBrokeTheProtocolKeepsNobodyAwake) {
  hand_over();
  ASSERT_FALSE(refuses());
  cells().published.store(local_cell_count + 1);
  EXPECT_FALSE(receiver_->arm());
  EXPECT_FALSE(receiver_->poll());
  EXPECT_TRUE(receiver_->arm()) << "there is nothing to take";
}

TEST_F(HostileLocalSender, AnyMarkTakesFramesBack) {
  hand_over();
  ASSERT_FALSE(refuses());
  announce();
  EXPECT_FALSE(receiver_->is_withdrawn());
  cells().withdrawn.store(0x8000'0000);
  EXPECT_FALSE(receiver_->poll());
  EXPECT_TRUE(receiver_->is_withdrawn());
  EXPECT_EQ(receiver_->frames_withdrawn(), 1U);
  EXPECT_EQ(receiver_->state(), LinkState::closed);
  EXPECT_NE(receiver_->fault().find("uses the memory of its frames again"), std::string::npos) << receiver_->fault();
  EXPECT_TRUE(receiver_->arm()) << "there is nothing to take";
}

TEST_F(HostileLocalSender, ThatTakesTheMarkBackHasLostNothingButFrames) {
  hand_over();
  ASSERT_FALSE(refuses());
  announce();
  cells().withdrawn.store(1);
  EXPECT_FALSE(receiver_->poll());
  cells().withdrawn.store(0);
  EXPECT_FALSE(receiver_->poll()) << "it is taken already";
  EXPECT_EQ(receiver_->frames_withdrawn(), 1U);
  cells().published.store(local_cell_count + 2);
  EXPECT_FALSE(receiver_->poll());
  EXPECT_EQ(receiver_->state(), LinkState::broken);
}

TEST_F(HostileLocalSender, AFrameThatIsHeldIsKnownToBeTakenBack) {
  hand_over();
  ASSERT_FALSE(refuses());
  announce();
  const auto frame = receiver_->poll();
  ASSERT_TRUE(frame);
  EXPECT_FALSE(receiver_->is_withdrawn());
  cells().withdrawn.store(1);
  EXPECT_TRUE(receiver_->is_withdrawn());
  EXPECT_EQ(receiver_->frames_withdrawn(), 0U) << "it was received";
}

TEST_F(HostileLocalSender, AFrameThatIsNotCompleteIsNotCountedAsTakenBack) {
  hand_over();
  ASSERT_FALSE(refuses());
  announce([](FrameHeader& header) {
    header.slice_count = 2;
    header.slice_bytes = slice_range(header).size_bytes;
  });
  cells().withdrawn.store(1);
  EXPECT_FALSE(receiver_->poll());
  EXPECT_EQ(receiver_->frames_withdrawn(), 0U);
}

/// A pool that the viewer has not taken keeps its socket readable, so that the socket does not tell the end.
TEST_F(HostileLocalSender, ThatHandsOverAPoolAndEndsIsSeenToEnd) {
  hand_over();
  EXPECT_EQ(receiver_->state(), LinkState::open);
  cells().withdrawn.store(1);
  socket_.reset();
  EXPECT_EQ(receiver_->state(), LinkState::closed);
}

TEST_F(HostileLocalSender, CannotMakeItsViewerWaitInAWakeUp) {
  hand_over();
  ASSERT_FALSE(refuses());
  announce();
  const auto frame = receiver_->poll();
  ASSERT_TRUE(frame);
  set_non_blocking(viewers_end_.get(), false);  // the viewer's descriptor shares this flag
  cells().credit_wanted.store(1);
  EXPECT_TRUE(ends_in_time([&] {
    for (int i = 0; i < more_than_a_socket_holds; ++i) {
      receiver_->return_credit(frame->header);
    }
  }));
}

TEST_F(HostileLocalSender, CannotMakeItsViewerWaitWhereItTakesWakes) {
  set_non_blocking(viewers_end_.get(), false);
  EXPECT_TRUE(ends_in_time([&] { receiver_->arm(); }));
}

TEST_F(HostileLocalSender, ThatHangsUpWakesNobodyForEver) {
  own_end_.reset();
  receiver_->arm();
  EXPECT_FALSE(wait_for(receiver_->descriptor(), POLLIN, monotonic_ns()));
  EXPECT_EQ(receiver_->state(), LinkState::closed);
}

TEST_F(HostileLocalSender, WakesByASocketAlone) {
  const FileDescriptor event = make_eventfd();
  EXPECT_NE(refusal_of(event.get()).find("something else than the socket"), std::string::npos);
  EXPECT_EQ(refusal_of(viewers_end_.get()), "");
}

TEST_F(HostileLocalSender, OfAnotherVersionIsNamed) {
  EXPECT_NE(refusal_of(viewers_end_.get(), {.version = 1}).find("(1, here 2)"), std::string::npos);
}

/// A sender, and a viewer that the test plays by hand and that has received the greeting.
class HostileLocalViewer : public testing::Test {
 protected:
  HostileLocalViewer() {
    auto [a, b] = unix_socket_pair();
    socket_ = std::move(b);
    sender_ = std::make_unique<LocalSender>(std::move(a));
    LocalHello hello;
    auto descriptors =
        receive_with_descriptors(socket_.get(), writable_record_bytes(hello), 3, monotonic_ns() + 5 * ns_per_s);
    cells_ = HostBlock::map_read_only(std::move(descriptors[0]), sizeof(LocalCells));
    acknowledgements_ = HostBlock::map_writable(std::move(descriptors[1]), sizeof(LocalAcknowledgements));
    wake_socket_ = std::move(descriptors[2]);
    sender_->epoch_ready(1, local_cell_count, {});
  }

  LocalAcknowledgements& acknowledgements() {
    return *reinterpret_cast<LocalAcknowledgements*>(acknowledgements_->bytes().data());
  }

  SendResult try_send(std::uint16_t slot, std::uint16_t slice = 0, std::uint16_t slices = 1) {
    OutgoingFrame frame{.pool_slot = {.epoch = 1, .index = slot}};
    frame.header.epoch = 1;
    frame.header.slice = slice;
    frame.header.slice_count = slices;
    frame.header.layout = bytes_layout(slot_bytes);
    frame.is_first = slice == 0;
    frame.is_last = slice + 1 == slices;
    return sender_->try_send(frame);
  }

  void return_credit(std::uint16_t slot) {
    acknowledgements().slots[given_back_ % local_cell_count].store(pack_slot(1, slot));
    acknowledgements().given_back.store(++given_back_);
  }

  std::size_t poll_released() {
    std::array<PoolSlot, 8> released;
    return sender_->poll_released(released);
  }

  FileDescriptor socket_;
  FileDescriptor wake_socket_;
  std::shared_ptr<HostBlock> cells_;
  std::shared_ptr<HostBlock> acknowledgements_;
  std::unique_ptr<LocalSender> sender_;
  std::uint32_t given_back_ = 0;
};

TEST_F(HostileLocalViewer, CannotMakeItsSenderWaitInAWakeUp) {
  set_non_blocking(wake_socket_.get(), false);
  const std::uint64_t max_of_an_event = UINT64_MAX - 1;  // the counter's maximum: a further write would block
  ASSERT_EQ(::write(wake_socket_.get(), &max_of_an_event, sizeof max_of_an_event), 8);
  EXPECT_TRUE(ends_in_time([&] {
    for (int i = 0; i < more_than_a_socket_holds; ++i) {
      acknowledgements().is_waiting.store(1);
      EXPECT_EQ(try_send(0), SendResult::accepted);
      const auto waker = sender_->take_waker();
      ASSERT_TRUE(waker);
      waker->wake();
      return_credit(0);
      EXPECT_EQ(poll_released(), 1U);
    }
  }));
  EXPECT_TRUE(wait_for(wake_socket_.get(), POLLIN, monotonic_ns()));
  EXPECT_EQ(sender_->state(), LinkState::open);
}

TEST_F(HostileLocalViewer, ThatNeverStopsWakingKeepsNobodyInAnswering) {
  while (::send(wake_socket_.get(), "wake wake wake", 14, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
  }
  EXPECT_TRUE(wait_for(sender_->descriptor(), POLLIN, monotonic_ns()));
  sender_->on_readable();
  EXPECT_TRUE(wait_for(sender_->descriptor(), POLLIN, monotonic_ns())) << "the rest is for the next time";
  EXPECT_EQ(sender_->state(), LinkState::open);
}

TEST_F(HostileLocalViewer, IsWokenOnlyWhenItSleeps) {
  EXPECT_EQ(try_send(0), SendResult::accepted);
  EXPECT_FALSE(sender_->take_waker());
  acknowledgements().is_waiting.store(1);
  EXPECT_EQ(try_send(1), SendResult::accepted);
  EXPECT_EQ(try_send(2), SendResult::accepted);
  EXPECT_TRUE(sender_->take_waker());
  EXPECT_FALSE(sender_->take_waker());
}

/// Where docs/wire.md has it.
TEST_F(HostileLocalViewer, HearsInItsCellsThatFramesAreTakenBack) {
  const auto word = [&] {
    std::uint32_t value = 0;
    std::memcpy(&value, cells_->bytes().data() + 4, sizeof value);
    return value;
  };
  EXPECT_EQ(try_send(0), SendResult::accepted);
  EXPECT_EQ(word(), 0U);
  sender_->withdraw();
  EXPECT_NE(word(), 0U);
}

TEST_F(HostileLocalViewer, ThatClosesItsWakeSocketEndsTheSession) {
  wake_socket_.reset();
  EXPECT_TRUE(wait_for(sender_->descriptor(), POLLIN, monotonic_ns()));
  sender_->on_readable();
  EXPECT_EQ(sender_->state(), LinkState::closed);
}

TEST_F(HostileLocalViewer, AWakerMayOutliveItsLink) {
  acknowledgements().is_waiting.store(1);
  EXPECT_EQ(try_send(0), SendResult::accepted);
  const auto waker = sender_->take_waker();
  sender_.reset();
  wake_socket_.reset();
  ASSERT_TRUE(waker);
  waker->wake();
}

TEST_F(HostileLocalViewer, ASlotThatItDoesNotHoldEndsTheSession) {
  return_credit(0);
  EXPECT_EQ(poll_released(), 0U);
  EXPECT_EQ(sender_->state(), LinkState::broken);
  EXPECT_TRUE(wait_for(sender_->descriptor(), POLLIN, monotonic_ns())) << "the session has to look at it";
}

TEST_F(HostileLocalViewer, AFrameGivenBackBeforeItsLastSliceEndsTheSession) {
  EXPECT_EQ(try_send(0, 0, 2), SendResult::accepted);
  return_credit(0);
  EXPECT_EQ(poll_released(), 0U);
  EXPECT_EQ(sender_->state(), LinkState::broken);
}

TEST_F(HostileLocalViewer, NoCellIsWrittenThatItMayNotHaveRead) {
  constexpr std::uint16_t slices = 100;
  std::uint32_t announced = 0;
  for (std::uint16_t frame = 0; frame < 3; ++frame) {
    for (std::uint16_t slice = 0; slice < slices && try_send(frame, slice, slices) == SendResult::accepted; ++slice) {
      ++announced;
    }
  }
  EXPECT_EQ(announced, 2U * slices) << "a third frame does not fit into " << local_cell_count << " cells";
  return_credit(0);
  EXPECT_EQ(poll_released(), 1U);
  for (std::uint16_t slice = 0; slice < slices; ++slice) {
    EXPECT_EQ(try_send(2, slice, slices), SendResult::accepted);
  }
}

TEST(HostileLocalViewers, BytesWhereItHasNothingToSayEndTheSession) {
  auto [a, b] = unix_socket_pair();
  LocalSender sender(std::move(a));
  EXPECT_EQ(sender.state(), LinkState::open);
  ASSERT_EQ(::send(b.get(), "x", 1, MSG_NOSIGNAL), 1);
  sender.on_readable();
  EXPECT_EQ(sender.state(), LinkState::broken);
  EXPECT_FALSE(sender.fault().empty());
}

/// An error comes before the end then, and whoever waits for the socket would look once more for nothing.
TEST(WakeSocket, APeerThatHasClosedWithWakesUnreadIsGone) {
  auto [own_end, peers_end] = make_wake_sockets();
  EXPECT_EQ(take_wakes(own_end.get()), PeerState::open);
  send_wake(own_end.get());
  peers_end.reset();
  EXPECT_EQ(take_wakes(own_end.get()), PeerState::closed);
}

}  // namespace
}  // namespace framewire::test
