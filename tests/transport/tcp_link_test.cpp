// A tcp receiver with a hostile sender, and a tcp sender with a hostile viewer.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/contract/link_pairs.hpp"
#include "transport/tcp/credit_word.hpp"
#include "transport/tcp/tcp_receiver.hpp"
#include "transport/tcp/tcp_sender.hpp"

namespace framewire::test {
namespace {

constexpr std::uint64_t frame_bytes = 1000;

FrameHeader header_of_a_frame() {
  FrameHeader header;
  header.epoch = 1;
  header.layout = bytes_layout(frame_bytes);
  header.slice_bytes = frame_bytes;
  return header;
}

std::vector<std::byte> message(const std::function<void(FrameHeader&)>& change = {}) {
  FrameHeader header = header_of_a_frame();
  if (change) {
    change(header);
  }
  std::vector<std::byte> bytes(encoded_bytes(header) + header.slice_bytes);
  encode(header, bytes);
  return bytes;
}

class HostileSender : public testing::Test {
 protected:
  HostileSender() {
    auto [a, b] = tcp_socket_pair();
    socket_ = std::move(a);
    receiver_ = std::make_unique<TcpReceiver>(std::move(b), 5 * ns_per_s);
    receiver_->begin_epoch(1, 1000, 2, {});
  }
  void send(std::span<const std::byte> bytes) { ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  bool is_broken() {
    return eventually([&] { return !receiver_->drive() && receiver_->state() == LinkState::broken; }) &&
           !receiver_->poll();
  }

  FileDescriptor socket_;
  std::unique_ptr<TcpReceiver> receiver_;
};

TEST_F(HostileSender, AGoodFrameIsTaken) {
  send(message());
  EXPECT_TRUE(eventually([&] { return drive_and_poll(*receiver_).has_value(); }));
  EXPECT_EQ(receiver_->state(), LinkState::open);
}

TEST_F(HostileSender, NoiseEndsTheSession) {
  send(std::vector<std::byte>(4096, std::byte{0x5a}));
  EXPECT_TRUE(is_broken());
  EXPECT_FALSE(receiver_->fault().empty());
}

TEST_F(HostileSender, AnUnknownEpochEndsTheSession) {
  send(message([](FrameHeader& header) { header.epoch = 2; }));
  EXPECT_TRUE(is_broken());
}

TEST_F(HostileSender, ASlotOutsideTheRingEndsTheSession) {
  send(message([](FrameHeader& header) { header.slot = 2; }));
  EXPECT_TRUE(is_broken());
}

TEST_F(HostileSender, APayloadLargerThanItsSlotEndsTheSession) {
  send(message([](FrameHeader& header) {
    header.layout = bytes_layout(1001);
    header.slice_bytes = 1001;
  }));
  EXPECT_TRUE(is_broken());
}

TEST_F(HostileSender, AFrameWithoutCreditEndsTheSession) {
  send(message());
  std::optional<IncomingFrame> held;
  ASSERT_TRUE(eventually([&] { return (held = drive_and_poll(*receiver_)).has_value(); }));
  const auto before = held->payload[5];
  auto again = message();
  std::fill(again.begin() + 128, again.end(), std::byte{0xee});
  send(again);
  EXPECT_TRUE(is_broken());
  EXPECT_EQ(held->payload[5], before) << "a slot that the viewer holds was overwritten";
}

TEST_F(HostileSender, WhoNeverReadsItsCreditsIsLost) {
  receiver_.reset();
  auto [a, b] = unix_socket_pair();  // whose buffers hold few short writes
  socket_ = std::move(a);
  receiver_ = std::make_unique<TcpReceiver>(std::move(b), 5 * ns_per_s);
  receiver_->begin_epoch(1, frame_bytes, 2, {});
  constexpr int more_than_the_kernel_holds = 20'000;
  int frames = 0;
  for (; frames < more_than_the_kernel_holds && receiver_->state() == LinkState::open; ++frames) {
    send(message([&](FrameHeader& header) { header.sequence = static_cast<std::uint64_t>(frames); }));
    std::optional<IncomingFrame> frame;
    ASSERT_TRUE(eventually(
        [&] { return (frame = drive_and_poll(*receiver_)).has_value() || receiver_->state() != LinkState::open; }));
    if (frame) {
      receiver_->return_credit(frame->header);
    }
  }
  EXPECT_EQ(receiver_->state(), LinkState::lost) << "after " << frames << " frames";
}

TEST_F(HostileSender, SlicesThatDoNotTileEndTheSession) {
  const std::array<std::pair<const char*, std::function<void(FrameHeader&)>>, 5> wrongs = {{
      {"overlap", [](FrameHeader& header) { header.slice_bytes = 4097; }},
      {"a gap", [](FrameHeader& header) { header.slice_offset_bytes = 1; }},
      {"an end of nothing", [](FrameHeader& header) { header.is_aborted = true, header.slice_bytes = 0; }},
      {"another frame", [](FrameHeader& header) { header.sequence = 2, header.slice = 1; }},
      {"twice", [](FrameHeader& header) { header.slice_bytes = 4096; }},
  }};
  for (const auto& [name, change] : wrongs) {
    auto [a, b] = tcp_socket_pair();
    socket_ = std::move(a);
    receiver_ = std::make_unique<TcpReceiver>(std::move(b), 5 * ns_per_s);
    receiver_->begin_epoch(1, 10'000, 2, {});
    const auto slice = [](FrameHeader& header) {
      header.layout = bytes_layout(10'000);
      header.slice_count = 2;
      header.slice_bytes = 4096;
    };
    const std::string_view is(name);
    if (is == "another frame" || is == "twice") {
      send(message(slice));
    }
    send(message([&, &change = change](FrameHeader& header) {
      slice(header);
      change(header);
    }));
    EXPECT_TRUE(is_broken()) << name;
    EXPECT_FALSE(receiver_->fault().empty());
  }
}

TEST_F(HostileSender, SlicesThatNeverEndFillNothing) {
  receiver_.reset();
  auto [a, b] = tcp_socket_pair();
  socket_ = std::move(a);
  receiver_ = std::make_unique<TcpReceiver>(std::move(b), 5 * ns_per_s);
  receiver_->set_takes_slices(true);
  constexpr std::uint32_t slots = 64;
  constexpr std::uint16_t slices = 256;
  receiver_->begin_epoch(1, std::uint64_t{slices} * 4096, slots, {});
  // The program takes nothing, and every frame lacks its last slice.
  std::thread sender([this] {
    for (std::uint16_t slot = 0; slot < slots; ++slot) {
      for (std::uint16_t i = 0; i + 1 < slices; ++i) {
        send(message([&](FrameHeader& header) {
          header.sequence = slot;
          header.slot = slot;
          header.layout = bytes_layout(std::uint64_t{slices} * 4096);
          header.slice = i;
          header.slice_count = slices;
          header.slice_offset_bytes = std::uint64_t{i} * 4096;
          header.slice_bytes = 4096;
        }));
      }
    }
    socket_.reset();
  });
  EXPECT_TRUE(eventually([&] { return !receiver_->drive() && receiver_->state() == LinkState::closed; }));
  sender.join();
  std::size_t kept = 0;
  while (receiver_->poll()) {
    ++kept;
  }
  EXPECT_LE(kept, 256U);
}

/// Each format takes a ring, and frames that nobody takes keep it.
TEST_F(HostileSender, FormatsOfWhichNoFrameIsTakenEndTheSession) {
  std::uint32_t epoch = 2;
  try {
    for (; epoch < 1000; ++epoch) {
      receiver_->begin_epoch(epoch, frame_bytes, 1, {});
      send(message([&](FrameHeader& header) {
        header.sequence = epoch;
        header.epoch = epoch;
      }));
      ASSERT_TRUE(eventually([&] { return receiver_->drive(); }));
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::lost_peer) << error.what();
    EXPECT_NE(std::string(error.what()).find("kept frames"), std::string::npos) << error.what();
  }
  EXPECT_LT(epoch, 300U);
  while (receiver_->poll()) {
  }
  EXPECT_NO_THROW(receiver_->begin_epoch(epoch, frame_bytes, 1, {})) << "the memory is free again";
}

TEST_F(HostileSender, ACutAtEveryByteOfAHeaderEndsQuietly) {
  const auto bytes = message();
  for (std::size_t cut = 0; cut < 140; cut += 3) {
    auto [a, b] = tcp_socket_pair();
    TcpReceiver receiver(std::move(b), 5 * ns_per_s);
    receiver.begin_epoch(1, 1000, 2, {});
    ::send(a.get(), bytes.data(), cut, MSG_NOSIGNAL);
    a.reset();
    EXPECT_TRUE(eventually([&] { return !receiver.drive() && receiver.state() == LinkState::closed; })) << cut;
    EXPECT_FALSE(receiver.poll());
  }
}

/// The credits that a viewer returns for free slots.
class Credits : public testing::Test {
 protected:
  static constexpr std::uint32_t ring_slots = 64;
  static constexpr std::uint64_t slot_bytes = 20'000;

  Credits() {
    auto [a, b] = tcp_socket_pair();
    socket_ = std::move(a);
    viewers_.reset(::dup(b.get()));
    receiver_ = std::make_unique<TcpReceiver>(std::move(b), 5 * ns_per_s);
    receiver_->begin_epoch(1, slot_bytes, ring_slots, {});
  }

  /// Returns when the viewer has read everything.
  void send_frames(std::uint16_t count, std::uint64_t bytes) {
    for (std::uint16_t slot = 0; slot < count; ++slot) {
      const auto frame = message([&](FrameHeader& header) {
        header.slot = slot;
        header.layout = bytes_layout(bytes);
        header.slice_bytes = bytes;
      });
      ASSERT_EQ(::send(socket_.get(), frame.data(), frame.size(), MSG_NOSIGNAL), static_cast<ssize_t>(frame.size()));
    }
    ASSERT_TRUE(eventually([&] {
      int unread = 1;
      int unsent = 1;
      return !receiver_->drive() && ::ioctl(viewers_.get(), SIOCINQ, &unread) == 0 &&
             ::ioctl(socket_.get(), SIOCOUTQ, &unsent) == 0 && unread == 0 && unsent == 0;
    }));
  }

  void take(int count) {
    for (int i = 0; i < count; ++i) {
      std::optional<IncomingFrame> frame;
      ASSERT_TRUE(eventually([&] { return (frame = receiver_->poll()).has_value(); }));
      receiver_->return_credit(frame->header);
    }
  }

  /// The number of credits that arrived since the last call.
  std::size_t came() {
    std::array<CreditWord, 2 * ring_slots> words;
    const auto got = ::recv(socket_.get(), words.data(), sizeof words, MSG_DONTWAIT);
    return got > 0 ? static_cast<std::size_t>(got) / sizeof(CreditWord) : 0;
  }

  FileDescriptor socket_;
  FileDescriptor viewers_;
  std::unique_ptr<TcpReceiver> receiver_;
};

TEST_F(Credits, OfSmallFramesWaitForOneAnotherWhileMoreOfThemDo) {
  send_frames(60, 1000);
  take(15);
  EXPECT_EQ(came(), 0U);
  take(1);
  EXPECT_EQ(came(), 16U) << "a quarter of the ring";
  take(3);
  EXPECT_EQ(came(), 0U);
}

TEST_F(Credits, AreSentWhenNothingMoreIsFound) {
  send_frames(60, 1000);
  take(60);
  EXPECT_FALSE(receiver_->poll());
  std::size_t all = 0;
  EXPECT_TRUE(eventually([&] { return (all += came()) == 60; }));
}

TEST_F(Credits, AreSentBeforeSleeping) {
  send_frames(60, 1000);
  take(2);
  EXPECT_FALSE(receiver_->arm()) << "more is waiting";
  EXPECT_EQ(came(), 2U);
}

TEST_F(Credits, AreSentAtTheEnd) {
  send_frames(60, 1000);
  take(2);
  receiver_.reset();
  EXPECT_EQ(came(), 2U);
}

TEST_F(Credits, OfLargeFramesAreSaidAtOnce) {
  send_frames(8, slot_bytes);
  take(1);
  EXPECT_EQ(came(), 1U);
}

/// A sender with two credits. The test plays the viewer on the other socket.
class Sending : public testing::Test {
 protected:
  Sending() {
    auto [a, b] = tcp_socket_pair();
    sender_ = std::make_unique<TcpSender>(std::move(a), 5 * ns_per_s);
    socket_ = std::move(b);
    sender_->epoch_ready(1, 2, {});
  }
  /// Also writes the frame, as the session would.
  SendResult try_send(const Payload& payload, const FileRange& file) {
    const SendResult result = sender_->try_send(
        {.header = header_of_a_frame(), .payload = payload, .pool_slot = {.epoch = 1, .index = 0}, .file = file});
    if (const auto waker = sender_->take_waker()) {
      waker->wake();
      sender_->on_readable();
    }
    return result;
  }

  FileDescriptor socket_;
  std::shared_ptr<HostBlock> payload_ =
      HostBlock::create_private("payload", frame_bytes);  // outlives the sender, which may be reading it
  std::unique_ptr<TcpSender> sender_;
};

class HostileViewer : public Sending {
 protected:
  SendResult try_send() { return Sending::try_send({payload_.get(), 0, frame_bytes}, {}); }
  void send(const CreditWord& credit) { ::send(socket_.get(), &credit, sizeof credit, MSG_NOSIGNAL); }
  bool is_broken() {
    return eventually([&] {
      std::array<PoolSlot, 4> released;
      sender_->poll_released(released);
      return sender_->state() == LinkState::broken;
    });
  }
};

TEST_F(HostileViewer, ACreditForASlotThatIsNotOutEndsTheSession) {
  send({.epoch = 1, .slot = 0});
  EXPECT_TRUE(is_broken());
}

TEST_F(HostileViewer, ACreditForASlotThatIsNotThereEndsTheSession) {
  send({.epoch = 1, .slot = 700});
  EXPECT_TRUE(is_broken());
}

TEST_F(HostileViewer, ACreditOfAnOldEpochIsNoCredit) {
  EXPECT_EQ(try_send(), SendResult::accepted);
  EXPECT_EQ(try_send(), SendResult::accepted);
  EXPECT_EQ(try_send(), SendResult::no_credit);
  send({.epoch = 0, .slot = 0});
  EXPECT_TRUE(eventually([&] {
    std::array<PoolSlot, 4> released;
    sender_->poll_released(released);
    return sender_->frames_acknowledged() == 1;
  }));
  EXPECT_EQ(sender_->state(), LinkState::open);
  EXPECT_EQ(try_send(), SendResult::no_credit);
}

TEST_F(HostileViewer, AResetIsAnEndAndNoLoss) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  socket_.reset();
  try_send();
  EXPECT_TRUE(eventually([&] {
    std::array<PoolSlot, 4> released;
    sender_->poll_released(released);  // over a network, the reset comes after the frame was written
    return sender_->state() != LinkState::open;
  }));
  EXPECT_EQ(sender_->state(), LinkState::closed) << "the viewer may have said on the control channel why";
}

TEST_F(HostileViewer, MoreCreditsThanFramesEndTheSession) {
  EXPECT_EQ(try_send(), SendResult::accepted);
  send({.epoch = 0, .slot = 0});
  send({.epoch = 0, .slot = 0});
  EXPECT_TRUE(is_broken());
}

/// Frames sent from a file. Some of the files do not fit the offer.
class FilesOfASender : public Sending {
 protected:
  FileDescriptor file_of(std::size_t bytes, int flags) const {
    const std::string name = folder_.file("frames");
    std::ofstream(name) << std::string(bytes, 'x');
    return FileDescriptor(::open(name.c_str(), flags | O_CLOEXEC));
  }
  void try_send(int fd) { EXPECT_EQ(Sending::try_send({}, {.fd = fd}), SendResult::accepted); }
  bool becomes(LinkState state) {
    return eventually([&] { return sender_->state() == state; });
  }

  TemporaryFolder folder_;
};

TEST_F(FilesOfASender, AreSentFromWhereTheyStand) {
  const FileDescriptor file = file_of(frame_bytes, O_RDONLY);
  try_send(file.get());
  std::array<char, frame_bytes + max_frame_header_bytes> got{};
  std::size_t bytes = 0;
  const std::uint64_t header_bytes = message().size() - frame_bytes;
  while (bytes < header_bytes + frame_bytes) {
    const auto more = ::recv(socket_.get(), got.data() + bytes, got.size() - bytes, 0);
    ASSERT_GT(more, 0);
    bytes += static_cast<std::size_t>(more);
  }
  EXPECT_EQ(std::string_view(got.data() + header_bytes, frame_bytes), std::string(frame_bytes, 'x'));
  EXPECT_EQ(sender_->state(), LinkState::open);
}

TEST_F(FilesOfASender, ThatAreShorterEndTheSessionByThisEndsFault) {
  const FileDescriptor file = file_of(frame_bytes - 1, O_RDONLY);
  try_send(file.get());
  EXPECT_TRUE(becomes(LinkState::source_failed));
  EXPECT_EQ(sender_->fault(), "the file became shorter while it was sent");
}

TEST_F(FilesOfASender, ThatCannotBeReadEndTheSessionByThisEndsFault) {
  const FileDescriptor file = file_of(frame_bytes, O_WRONLY);
  try_send(file.get());
  EXPECT_TRUE(becomes(LinkState::source_failed));
  EXPECT_EQ(sender_->fault(), "the file cannot be sent any more: Bad file descriptor");
}

TEST_F(FilesOfASender, AViewerThatHasGoneIsNoFaultOfTheFile) {
  const FileDescriptor file = file_of(frame_bytes, O_RDONLY);
  socket_.reset();
  try_send(file.get());
  EXPECT_TRUE(eventually([&] {
    std::array<PoolSlot, 4> released;
    sender_->poll_released(released);
    return sender_->state() != LinkState::open;
  }));
  EXPECT_EQ(sender_->state(), LinkState::closed);
}

}  // namespace
}  // namespace framewire::test
