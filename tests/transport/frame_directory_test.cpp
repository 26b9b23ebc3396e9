// The directory of frames that viewers in read mode pull from, and the order in which slots are reused.
#include "transport/frame_directory.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/file_descriptor.hpp"
#include "transport/pool.hpp"
#include "transport/stream.hpp"

namespace framewire::test {
namespace {

FrameHeader numbered(std::uint64_t sequence) {
  FrameHeader header;
  header.sequence = sequence;
  header.layout = bytes_layout(100);
  header.slice_bytes = 100;
  return header;
}

std::optional<NewestFrame> newest_of(const FrameDirectory& directory) {
  return decode_newest(std::span<const std::byte>(directory.block()->bytes()).first<newest_cell_bytes>());
}

std::span<const std::byte> cell_of(const FrameDirectory& directory, std::uint16_t slot) {
  return directory.block()->bytes().subspan(directory_cell_offset_bytes(slot), directory_cell_bytes);
}

TEST(FrameDirectory, ShowsNothingAtFirst) {
  const FrameDirectory directory(3);
  EXPECT_FALSE(newest_of(directory));
  EXPECT_EQ(directory_generation(cell_of(directory, 2)), 0U);
}

TEST(FrameDirectory, NamesTheNewestFrameAndShowsItsHeader) {
  FrameDirectory directory(3);
  directory.publish_cell(2, numbered(7));
  directory.publish_cell(1, numbered(8));
  EXPECT_EQ(newest_of(directory), (NewestFrame{.slot = 1, .generation = 2}));
  EXPECT_EQ(directory_generation(cell_of(directory, 2)), 1U);
  EXPECT_EQ(directory_generation(cell_of(directory, 1)), 2U);
  const auto bytes = cell_of(directory, 1).subspan(directory_generation_bytes);
  FrameHeader header;
  ASSERT_EQ(decode(bytes.first(*header_bytes_from_prefix(bytes.first<8>())), header), HeaderFault::none);
  EXPECT_EQ(header, numbered(8));
}

TEST(FrameDirectory, AGenerationNeverComesTwice) {
  FrameDirectory directory(2);
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 10; ++i) {
    directory.invalidate(1);
    EXPECT_EQ(directory_generation(cell_of(directory, 1)), 0U);
    directory.publish_cell(1, numbered(i));
    EXPECT_TRUE(seen.insert(directory_generation(cell_of(directory, 1))).second);
  }
}

TEST(FrameDirectory, HoldsTheLargestHeaderAndSlot) {
  FrameDirectory directory(max_pool_slots);
  directory.publish_cell(max_pool_slots - 1, numbered(1));
  EXPECT_EQ(newest_of(directory)->slot, max_pool_slots - 1);
  EXPECT_LE(directory_bytes(max_pool_slots), directory.block()->bytes().size());
}

TEST(PoolWithADirectory, KeepsTheNewestAndUsesTheOldestAgain) {
  Pool pool(1, 100, 4, true);
  std::vector<std::uint16_t> order;
  for (std::uint64_t i = 0; i < 8; ++i) {
    const auto index = pool.claim();
    ASSERT_TRUE(index);
    order.push_back(*index);
    EXPECT_EQ(directory_generation(cell_of(*pool.directory(), *index)), 0U);
    pool.publish_cell(*index, numbered(i));
    pool.release(*index);
    EXPECT_EQ(pool.free_count(), 3U);  // the newest is not free
  }
  for (std::size_t i = 4; i < order.size(); ++i) {
    EXPECT_EQ(order[i], order[i - 4]);  // a slot is reused only after all the others
  }
  pool.retire_newest();
  EXPECT_EQ(pool.free_count(), 4U);
}

class PulledStream : public testing::Test {
 protected:
  void publish(std::uint64_t user_tag) {
    auto slot = stream_.claim();
    ASSERT_TRUE(slot);
    stream_.publish(std::move(*slot), {.user_tag = user_tag, .layout = {}});
  }

  SharedEvent wake_ = make_shared_event();
  Stream stream_{{.name = "pulled", .slots_per_viewer = 1, .max_viewers = 1, .allows_pull = true}};
};

TEST_F(PulledStream, GoesForAPullerAlone) {
  stream_.begin_epoch({.layout = bytes_layout(100), .colour = {}});
  EXPECT_FALSE(stream_.claim_now());
  ASSERT_TRUE(stream_.add_puller(wake_));
  EXPECT_EQ(stream_.viewer_count(), 1U);
  for (std::uint64_t i = 0; i < 20; ++i) {
    publish(i);
  }
  EXPECT_EQ(newest_of(*stream_.epoch_after(0)->pool->directory())->generation, 20U);
  stream_.remove_puller(wake_);
  EXPECT_FALSE(stream_.claim_now());
}

TEST_F(PulledStream, APullerSetsNoPaceSoThatAWholeDeliveryWaitsForSomebodyElse) {
  Stream every({.name = "every", .delivery = Delivery::every, .allows_pull = true});
  every.begin_epoch({.layout = bytes_layout(100), .colour = {}});
  ASSERT_TRUE(every.add_puller(wake_));
  EXPECT_FALSE(every.claim_now());
  every.remove_puller(wake_);
}

TEST_F(PulledStream, TellsOfEveryNewFormatAndOfTheEnd) {
  ASSERT_TRUE(stream_.add_puller(wake_));
  EXPECT_FALSE(stream_.epoch_after(0));
  stream_.begin_epoch({.layout = bytes_layout(100), .colour = {}});
  EXPECT_TRUE(clear_eventfd(wake_->get()));
  EXPECT_EQ(stream_.epoch_after(0)->number, 1U);
  EXPECT_FALSE(stream_.epoch_after(1));
  publish(1);
  stream_.begin_epoch({.layout = bytes_layout(200), .colour = {}});
  EXPECT_TRUE(clear_eventfd(wake_->get()));
  const auto epoch = stream_.epoch_after(1);
  ASSERT_TRUE(epoch);
  EXPECT_EQ(epoch->pool->slot_bytes(), 200U);
  EXPECT_FALSE(newest_of(*epoch->pool->directory()));
  stream_.finish();
  EXPECT_TRUE(clear_eventfd(wake_->get()));
  stream_.remove_puller(wake_);
}

TEST_F(PulledStream, TheMemoryOfAnEarlierFormatGoes) {
  ASSERT_TRUE(stream_.add_puller(wake_));
  stream_.begin_epoch({.layout = bytes_layout(100), .colour = {}});
  publish(1);
  const std::weak_ptr<Pool> earlier = stream_.epoch_after(0)->pool;
  stream_.begin_epoch({.layout = bytes_layout(200), .colour = {}});
  EXPECT_TRUE(earlier.expired());
  stream_.remove_puller(wake_);
}

TEST_F(PulledStream, TakesSoManyPullersAndNoMore) {
  std::vector<SharedEvent> wakes;
  while (true) {
    wakes.push_back(make_shared_event());
    if (!stream_.add_puller(wakes.back())) {
      break;
    }
    ASSERT_LT(wakes.size(), 1000U);
  }
  EXPECT_EQ(wakes.size() - 1, 16U);
  for (const SharedEvent& wake : wakes) {
    stream_.remove_puller(wake);
  }
  EXPECT_EQ(stream_.viewer_count(), 0U);
}

}  // namespace
}  // namespace framewire::test
