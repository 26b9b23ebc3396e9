// Tests the check itself: it must find every frame that is torn on purpose.
#include "frame/test_pattern.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace framewire {
namespace {

TEST(Stamp, HoldsForItsOwnSequenceOnly) {
  for (const std::size_t size : {0UL, 1UL, 63UL, 64UL, 65UL, 1000UL}) {
    std::vector<std::byte> payload(size);
    write_test_lines(payload, 5);
    EXPECT_FALSE(find_torn_line(payload, 5)) << size;
    if (size >= 8) {
      EXPECT_EQ(find_torn_line(payload, 6), 0U) << size;
    }
  }
}

TEST(Stamp, FindsAThousandOfAThousandTornFrames) {
  std::mt19937_64 random(7);
  int found = 0;
  for (int i = 0; i < 1000; ++i) {
    std::vector<std::byte> older(64 + random() % 5000);
    std::vector<std::byte> newer(older.size());
    const std::uint64_t sequence = random();
    write_test_lines(older, sequence);
    write_test_lines(newer, sequence + 1);
    const std::size_t begin = random() % (older.size() - 8);
    const std::size_t count = 8 + random() % (older.size() - begin - 7);
    std::copy_n(newer.begin() + static_cast<std::ptrdiff_t>(begin), count,
                older.begin() + static_cast<std::ptrdiff_t>(begin));
    found += find_torn_line(older, sequence) ? 1 : 0;
  }
  EXPECT_EQ(found, 1000);
}

TEST(Mark, FindsATornPicture) {
  std::vector<std::byte> payload(10 * 4096 + 100);
  write_test_marks(payload, 9, 4096);
  EXPECT_FALSE(find_torn_mark(payload, 9, 4096));
  payload[3 * 4096 + 2] ^= std::byte{1};
  EXPECT_EQ(find_torn_mark(payload, 9, 4096), 3U);
  EXPECT_TRUE(find_torn_mark(payload, 8, 4096));
}

}  // namespace
}  // namespace framewire
