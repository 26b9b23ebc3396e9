// Slots that a decoder has in addition to those that a source claims.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/file_descriptor.hpp"
#include "tests/transport/attached_viewer.hpp"
#include "transport/stream.hpp"

namespace framewire {
namespace {

constexpr std::uint32_t spare_slots = 2;

class SpareSlotsTest : public ::testing::Test {
 protected:
  SpareSlotsTest() {
    stream_.attach(queue_);
    begin_epoch();
  }
  ~SpareSlotsTest() override {
    stream_.detach(queue_);
    stream_.release_held(queue_);
  }
  void begin_epoch() {
    stream_.begin_epoch({.layout = bytes_layout(100), .colour = {}}, 200, spare_slots);
    stream_.epoch_ready(queue_, stream_.epoch_to_announce(queue_)->number, 64);
  }

  KeptSlot publish(ClaimedSlot slot) {
    EXPECT_TRUE(stream_.wait_for_room());
    return *stream_.publish_and_keep(std::move(slot), {.layout = bytes_layout(150)});
  }

  bool is_among_free(const std::byte* memory) {
    const auto slots = test::claim_all(stream_);
    return std::ranges::any_of(slots, [&](const auto& one) { return one.bytes().data() == memory; });
  }

  Stream stream_{{.slots_per_viewer = 3, .max_viewers = 1}};
  SharedEvent wake_ = make_shared_event();
  test::HoldingLink link_;
  SubscriberQueue queue_{link_, Delivery::latest, wake_};
};

TEST_F(SpareSlotsTest, TakeNoneOfTheOthersAndNeedNoRoom) {
  const auto first = stream_.claim_spare();
  auto second = stream_.claim_spare();
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->bytes().data(), second->bytes().data());
  EXPECT_EQ(first->bytes().size(), 200U);
  EXPECT_EQ(test::claim_all(stream_).size(), pool_slots_for(1, 3));
  const auto all = test::claim_all(stream_);
  EXPECT_FALSE(stream_.claim_spare());
  second.reset();
  EXPECT_TRUE(stream_.claim_spare());
}

/// Viewers read what was sent, and their sessions may be over.
TEST_F(SpareSlotsTest, AreNotGivenOutWhenTheSourceHasEnded) {
  stream_.finish();
  EXPECT_FALSE(stream_.claim_spare());
}

TEST_F(SpareSlotsTest, AreNotUsedAgainWhileTheDecoderReadsThem) {
  auto spare = stream_.claim_spare();
  std::byte* const memory = spare->bytes().data();
  memory[7] = std::byte{7};
  {
    const KeptSlot kept = publish(std::move(*spare));
    ASSERT_EQ(link_.sent.size(), 1U);
    EXPECT_EQ(link_.headers.front().layout, bytes_layout(150));
    EXPECT_EQ(kept.bytes().data(), memory);
    EXPECT_EQ(kept.bytes()[7], std::byte{7});
    link_.done = link_.sent;  // released by the viewer, not yet by the decoder
    stream_.make_progress(queue_);
    EXPECT_FALSE(is_among_free(memory));
  }
  EXPECT_TRUE(is_among_free(memory));
}

TEST_F(SpareSlotsTest, AreNotUsedAgainWhileAViewerShowsThem) {
  auto spare = stream_.claim_spare();
  const std::byte* const memory = spare->bytes().data();
  static_cast<void>(publish(std::move(*spare)));  // released by the decoder, not yet by the viewer
  EXPECT_FALSE(is_among_free(memory));
  link_.done = link_.sent;
  stream_.make_progress(queue_);
  EXPECT_TRUE(is_among_free(memory));
}

TEST_F(SpareSlotsTest, KeepTheirEpochUntilTheyAreBack) {
  auto spare = stream_.claim_spare();
  std::optional<KeptSlot> kept(publish(std::move(*stream_.claim_spare())));
  link_.done = link_.sent;
  stream_.make_progress(queue_);
  const std::weak_ptr<HostBlock> block = spare->host_block();
  begin_epoch();
  EXPECT_FALSE(block.expired());
  spare.reset();
  EXPECT_FALSE(block.expired());
  kept.reset();
  EXPECT_TRUE(block.expired());
}

}  // namespace
}  // namespace framewire
