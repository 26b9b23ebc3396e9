#include "frame/slices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace framewire {
namespace {

constexpr std::array<std::uint64_t, 10> payloads = {
    0, 1, 64, 4095, 4096, 4097, 1'000'003, 3840ULL * 2160 * 4, (std::uint64_t{1} << 32) - 1, std::uint64_t{1} << 32};

TEST(Slices, TileThePayload) {
  for (const std::uint64_t bytes : payloads) {
    for (std::uint16_t count = 1; count <= max_slices; ++count) {
      std::uint64_t expected = 0;
      for (std::uint16_t i = 0; i < count; ++i) {
        const ByteRange range = slice_range(bytes, count, i);
        ASSERT_EQ(range.offset_bytes, expected) << bytes << " in " << count << ", slice " << i;
        ASSERT_EQ(range.offset_bytes % slice_alignment_bytes, 0U);
        expected = range.end_bytes();
      }
      ASSERT_EQ(expected, bytes);
    }
  }
}

TEST(Slices, OfAPossibleNumberAreNotEmpty) {
  for (const std::uint64_t bytes : payloads) {
    for (const int tried : {0, 1, 2, 3, 8, 64, 255, 256, 257, 65535}) {
      const auto wanted = static_cast<std::uint16_t>(tried);
      const std::uint16_t count = possible_slices(bytes, wanted);
      ASSERT_GE(count, 1);
      ASSERT_LE(count, std::max<std::uint16_t>(wanted, 1));
      for (std::uint16_t i = 0; i < count && bytes > 0; ++i) {
        ASSERT_GT(slice_range(bytes, count, i).size_bytes, 0U) << bytes << " in " << count << ", slice " << i;
      }
    }
  }
  EXPECT_EQ(possible_slices(3840ULL * 2160 * 4, 8), 8);
  EXPECT_EQ(possible_slices(8191, 8), 1);
}

}  // namespace
}  // namespace framewire
