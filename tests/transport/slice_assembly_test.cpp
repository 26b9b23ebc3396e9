#include "transport/slice_assembly.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace framewire {
namespace {

using Progress = SliceAssembly::Progress;

FrameHeader slice_of(std::uint16_t index, std::uint16_t count, std::uint64_t sequence = 7) {
  FrameHeader header;
  header.sequence = sequence;
  header.slice = index;
  header.slice_count = count;
  header.layout = bytes_layout(100'000);
  const ByteRange range = slice_range(header);
  header.slice_offset_bytes = range.offset_bytes;
  header.slice_bytes = range.size_bytes;
  return header;
}

FrameHeader end_of_frame(std::uint16_t count, std::uint64_t sequence = 7) {
  FrameHeader header = slice_of(0, count, sequence);
  header.slice_bytes = 0;
  header.is_aborted = true;
  return header;
}

bool refuses(const SliceAssembly& assembly, const FrameHeader& header) {
  return assembly.why_not(header) != nullptr;
}

TEST(SliceAssemblyTest, ASliceOfOneIsAWholeFrame) {
  SliceAssembly assembly;
  EXPECT_FALSE(refuses(assembly, slice_of(0, 1)));
  EXPECT_EQ(assembly.add(slice_of(0, 1)), Progress::whole);
  EXPECT_FALSE(refuses(assembly, slice_of(0, 1, 8)));
}

TEST(SliceAssemblyTest, TakesSlicesInAnyOrder) {
  std::mt19937 random(1);
  SliceAssembly assembly;
  for (std::uint64_t sequence = 0; sequence < 100; ++sequence) {
    const auto count = static_cast<std::uint16_t>(2 + sequence % 20);
    std::vector<std::uint16_t> order(count);
    std::ranges::generate(order, [next = std::uint16_t{0}]() mutable { return next++; });
    std::ranges::shuffle(order, random);
    for (const std::uint16_t index : order) {
      const FrameHeader header = slice_of(index, count, sequence);
      ASSERT_FALSE(refuses(assembly, header));
      ASSERT_EQ(assembly.add(header), index == order.back() ? Progress::whole : Progress::part);
      ASSERT_TRUE(index == order.back() || refuses(assembly, header)) << "twice";
    }
  }
}

TEST(SliceAssemblyTest, RefusesWhatDoesNotTile) {
  const SliceAssembly assembly;
  for (const std::int64_t error : {-4096, -1, 1, 4096}) {
    FrameHeader shifted = slice_of(2, 5);
    shifted.slice_offset_bytes += static_cast<std::uint64_t>(error);
    EXPECT_TRUE(refuses(assembly, shifted)) << error;
    FrameHeader resized = slice_of(2, 5);
    resized.slice_bytes += static_cast<std::uint64_t>(error);
    EXPECT_TRUE(refuses(assembly, resized)) << error;
  }
  FrameHeader less = slice_of(0, 1);
  less.slice_bytes -= 1;
  EXPECT_TRUE(refuses(assembly, less)) << "a frame that is not whole";
}

TEST(SliceAssemblyTest, RefusesAnotherFrameUntilTheFirstIsComplete) {
  SliceAssembly assembly;
  assembly.add(slice_of(0, 2));
  EXPECT_TRUE(refuses(assembly, slice_of(1, 2, 8))) << "another frame";
  EXPECT_TRUE(refuses(assembly, slice_of(1, 3))) << "another number of slices";
  EXPECT_TRUE(refuses(assembly, slice_of(0, 1))) << "a whole frame";
  FrameHeader smaller = slice_of(1, 2);
  smaller.layout = bytes_layout(90'000);
  EXPECT_TRUE(refuses(assembly, smaller)) << "another layout";
  EXPECT_FALSE(refuses(assembly, slice_of(1, 2)));
  EXPECT_EQ(assembly.add(slice_of(1, 2)), Progress::whole);
  EXPECT_FALSE(refuses(assembly, slice_of(1, 3, 8)));
}

TEST(SliceAssemblyTest, AFrameThatWasBegunCanBeAborted) {
  SliceAssembly assembly;
  EXPECT_TRUE(refuses(assembly, end_of_frame(3))) << "it was not begun";
  EXPECT_TRUE(refuses(assembly, end_of_frame(1)));
  assembly.add(slice_of(1, 3));
  EXPECT_TRUE(refuses(assembly, end_of_frame(3, 8))) << "another frame's end";
  EXPECT_FALSE(refuses(assembly, end_of_frame(3)));
  FrameHeader used = end_of_frame(3);
  used.slice = 1;
  EXPECT_TRUE(refuses(assembly, used)) << "the number of the slice that came";
  EXPECT_EQ(assembly.add(end_of_frame(3)), Progress::aborted);
  EXPECT_TRUE(refuses(assembly, end_of_frame(3))) << "twice";
  EXPECT_FALSE(refuses(assembly, slice_of(1, 3, 8)));
}

}  // namespace
}  // namespace framewire
