// Slots that a decoder holds in addition to the slots that a source has claimed.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/file_descriptor.hpp"
#include "transport/stream.hpp"

namespace framewire {
namespace {

/// A link that accepts every frame and releases the slots that the test puts into `done`.
class Holder final : public SenderLink {
 public:
  [[nodiscard]] LinkKind kind() const noexcept override { return LinkKind::local; }
  void begin_epoch(std::shared_ptr<Pool> /*pool*/) override {}
  void epoch_ready(std::uint32_t /*epoch*/, std::uint32_t /*ring_slots*/,
                   const LinkDescription& /*ring*/) noexcept override {}
  SendResult try_send(const OutgoingFrame& frame) noexcept override {
    sent.push_back(frame.pool_slot);
    layouts.push_back(frame.header.layout);
    return SendResult::accepted;
  }
  std::size_t poll_released(std::span<PoolSlot> released) noexcept override {
    const std::size_t count = std::min(released.size(), done.size());
    std::copy_n(done.begin(), count, released.begin());
    done.erase(done.begin(), done.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }
  bool arm() noexcept override { return done.empty(); }
  [[nodiscard]] int descriptor() const noexcept override { return -1; }
  void on_readable() noexcept override {}
  [[nodiscard]] LinkState state() const noexcept override { return LinkState::open; }
  [[nodiscard]] std::string fault() const override { return {}; }
  [[nodiscard]] std::uint64_t frames_acknowledged() const noexcept override { return 0; }

  std::vector<PoolSlot> sent;
  std::vector<FrameLayout> layouts;
  std::vector<PoolSlot> done;
};

constexpr std::uint32_t lent_slots = 2;

class LentSlotsTest : public ::testing::Test {
 protected:
  LentSlotsTest() {
    stream_.attach(queue_);
    begin_epoch();
  }
  ~LentSlotsTest() override {
    stream_.detach(queue_);
    stream_.release_held(queue_);
  }
  void begin_epoch() {
    stream_.begin_epoch({.layout = bytes_layout(100), .colour = {}}, 200, lent_slots);
    stream_.epoch_ready(queue_, stream_.epoch_to_announce(queue_)->number, 64);
  }

  void publish(const LentSlot& lent) {
    auto claimed = stream_.claim_now();
    ASSERT_TRUE(claimed);
    FrameInfo info;
    info.layout = bytes_layout(150);
    info.lent = lent.slot;
    stream_.publish(std::move(*claimed), info);
  }

  /// Claims all free slots.
  std::vector<ClaimedSlot> claim_all() {
    std::vector<ClaimedSlot> slots;
    while (auto slot = stream_.claim_now()) {
      slots.push_back(std::move(*slot));
    }
    return slots;
  }

  static bool is_among(const std::vector<ClaimedSlot>& slots, const LentSlot& lent) {
    return std::ranges::any_of(slots, [&](const auto& one) { return one.bytes().data() == lent.bytes.data(); });
  }

  Stream stream_{{.slots_per_viewer = 3, .max_viewers = 1}};
  FileDescriptor wake_ = make_eventfd();
  Holder link_;
  SubscriberQueue queue_{link_, Delivery::latest, wake_.get()};
};

TEST_F(LentSlotsTest, AreSoManyAsWereAskedForAndTakeNoneOfTheOthers) {
  const auto first = stream_.lend();
  const auto second = stream_.lend();
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->bytes.data(), second->bytes.data());
  EXPECT_EQ(first->bytes.size(), 200U);
  EXPECT_FALSE(stream_.lend());
  EXPECT_EQ(claim_all().size(), pool_slots_for(1, 3));
  stream_.take_back(first->slot);
  EXPECT_TRUE(stream_.lend());
}

TEST_F(LentSlotsTest, AreNotUsedAgainWhileTheDecoderReadsThem) {
  const auto lent = stream_.lend();
  publish(*lent);
  ASSERT_EQ(link_.sent, std::vector{lent->slot});
  EXPECT_EQ(link_.layouts.front(), bytes_layout(150));
  link_.done = {lent->slot};  // released by the viewer, not yet by the decoder
  stream_.make_progress(queue_);
  EXPECT_FALSE(is_among(claim_all(), *lent));
  stream_.take_back(lent->slot);
  EXPECT_TRUE(is_among(claim_all(), *lent));
}

TEST_F(LentSlotsTest, AreNotUsedAgainWhileAViewerShowsThem) {
  const auto lent = stream_.lend();
  publish(*lent);
  stream_.take_back(lent->slot);  // released by the decoder, not yet by the viewer
  EXPECT_FALSE(is_among(claim_all(), *lent));
  link_.done = {lent->slot};
  stream_.make_progress(queue_);
  EXPECT_TRUE(is_among(claim_all(), *lent));
}

TEST_F(LentSlotsTest, KeepTheirEpochUntilTheyAreBack) {
  auto lent = stream_.lend();
  const std::weak_ptr<HostBlock> block = lent->block;
  const PoolSlot slot = lent->slot;
  lent.reset();
  begin_epoch();
  EXPECT_FALSE(block.expired());
  stream_.take_back(slot);
  EXPECT_TRUE(block.expired());
}

}  // namespace
}  // namespace framewire
