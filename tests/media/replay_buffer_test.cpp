#include "media/replay_buffer.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <new>

namespace framewire::libav {
namespace {

Packet packet(std::int64_t number, bool is_key, int size_bytes = 1) {
  Packet made = make_packet();
  if (av_new_packet(made.get(), size_bytes) < 0) {
    throw std::bad_alloc();
  }
  made->pts = number;
  made->flags = is_key ? AV_PKT_FLAG_KEY : 0;
  return made;
}

constexpr auto limit = static_cast<std::int64_t>(ReplayBuffer::max_packets);

TEST(ReplayBuffer, GivesWhatItGotAndTheEnd) {
  ReplayBuffer buffer;
  EXPECT_TRUE(buffer.add(packet(0, true).get()));
  EXPECT_EQ(buffer.size(), 0U) << "it does not record yet";
  buffer.start();
  EXPECT_TRUE(buffer.add(packet(1, false).get()));
  EXPECT_TRUE(buffer.add(packet(2, true).get()));
  EXPECT_TRUE(buffer.add(nullptr));
  const std::deque<Packet> taken = buffer.take();
  EXPECT_FALSE(buffer.is_recording());
  ASSERT_EQ(taken.size(), 3U);
  EXPECT_EQ(taken.at(0)->pts, 1);
  EXPECT_EQ(taken.at(1)->pts, 2);
  EXPECT_EQ(taken.at(2), nullptr);
  EXPECT_EQ(buffer.size(), 0U);
}

TEST(ReplayBuffer, OnlyWhatFollowsAKeyPictureIsTooMuch) {
  ReplayBuffer buffer;
  buffer.start();
  for (std::int64_t i = 0; i < 3 * limit; ++i) {
    ASSERT_TRUE(buffer.add(packet(i, false).get()));
  }
  EXPECT_EQ(buffer.size(), ReplayBuffer::max_packets);
  for (std::int64_t i = 0; i < limit; ++i) {
    ASSERT_TRUE(buffer.add(packet(3 * limit + i, i == 0).get())) << i;
  }
  EXPECT_FALSE(buffer.add(packet(4 * limit, true).get()));
  const std::deque<Packet> taken = buffer.take();
  ASSERT_EQ(taken.size(), ReplayBuffer::max_packets + 1);
  EXPECT_EQ(taken.front()->pts, 3 * limit);
  EXPECT_EQ(taken.back()->pts, 4 * limit);
}

TEST(ReplayBuffer, CountsBytes) {
  constexpr int size_bytes = 1 << 20;
  constexpr int fitting = ReplayBuffer::max_bytes / size_bytes;
  const Packet before = packet(0, false, size_bytes);
  const Packet key = packet(1, true, size_bytes);
  ReplayBuffer buffer;
  buffer.start();
  for (int i = 0; i < 2 * fitting; ++i) {
    ASSERT_TRUE(buffer.add(before.get()));
  }
  EXPECT_EQ(buffer.size(), static_cast<std::size_t>(fitting));
  for (int i = 0; i < fitting; ++i) {
    ASSERT_TRUE(buffer.add(key.get()));
  }
  EXPECT_FALSE(buffer.add(key.get()));
  buffer.start();
  EXPECT_TRUE(buffer.add(key.get())) << "it begins anew";
}

}  // namespace
}  // namespace framewire::libav
