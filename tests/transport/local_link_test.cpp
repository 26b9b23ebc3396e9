// What a local receiver does with a sender that lies, and a local sender with a viewer that does.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "tests/contract/link_pairs.hpp"
#include "transport/local/descriptor_passing.hpp"
#include "transport/local/local_receiver.hpp"
#include "transport/local/local_sender.hpp"
#include "transport/local/shared_pages.hpp"

namespace framewire::test {
namespace {

constexpr std::uint64_t slot_bytes = 4096;

/// A sender's end made by hand, with a receiver that has taken its greeting.
class HostileLocalSender : public testing::Test {
 protected:
  HostileLocalSender() {
    auto [a, b] = unix_socket_pair();
    socket_ = std::move(a);
    const std::array descriptors{cells_->memfd(), acknowledgements_->memfd(), frame_event_.get(), credit_event_.get()};
    send_with_descriptors(socket_.get(), record_bytes(LocalHello{}), descriptors);
    receiver_ = std::make_unique<LocalReceiver>(std::move(b), monotonic_ns() + 5 * ns_per_s);
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
  FileDescriptor frame_event_ = make_event();
  FileDescriptor credit_event_ = make_event();
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
  hand_over([](LocalPool& record) { record.slot_count = 3; });  // than the memory holds
  EXPECT_TRUE(refuses());
  hand_over([](LocalPool& record) { record.epoch = 2; });
  EXPECT_TRUE(refuses());
  hand_over([](LocalPool& record) { record.slot_bytes = 2 * slot_bytes; });
  EXPECT_TRUE(refuses());
  hand_over([](LocalPool& record) { record.magic = 1; });
  EXPECT_TRUE(refuses());
}

TEST_F(HostileLocalSender, ASlotOutsideThePoolEndsTheSession) {
  hand_over();
  ASSERT_FALSE(refuses());
  announce([](FrameHeader& header) { header.slot = 2; });
  EXPECT_FALSE(receiver_->poll());
  EXPECT_EQ(receiver_->state(), LinkState::broken);
}

TEST_F(HostileLocalSender, MoreCellsThanThereAreEndTheSession) {
  hand_over();
  ASSERT_FALSE(refuses());
  cells().published.store(local_cell_count + 1);
  EXPECT_FALSE(receiver_->poll());
  EXPECT_EQ(receiver_->state(), LinkState::broken);
}

TEST(HostileLocalViewer, BytesWhereItHasNothingToSayEndTheSession) {
  auto [a, b] = unix_socket_pair();
  LocalSender sender(std::move(a));
  EXPECT_EQ(sender.state(), LinkState::open);
  ASSERT_EQ(::send(b.get(), "x", 1, MSG_NOSIGNAL), 1);
  sender.on_readable();
  EXPECT_EQ(sender.state(), LinkState::broken);
  EXPECT_FALSE(sender.fault().empty());
}

}  // namespace
}  // namespace framewire::test
