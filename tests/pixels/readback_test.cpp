#include "gl/readback.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "gl/offscreen_target.hpp"
#include "tests/pixels/gl_test.hpp"
#include "tests/pixels/two_colours.hpp"

namespace framewire {
namespace {

constexpr Size size{67, 35};  // fit no alignment
constexpr std::size_t bytes = std::size_t{67} * 35 * 4;

std::int64_t soon_ns() {
  return monotonic_ns() + 20 * ns_per_s;
}

bool equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::ranges::equal(a, b);
}

class ReadbackTest : public GlTest {
 protected:
  static std::vector<ReadbackMethod> methods() {
    std::vector<ReadbackMethod> list = {ReadbackMethod::persistent_buffer};
    if (WrappedBlocks::takes_host_memory()) {
      list.push_back(ReadbackMethod::pinned_memory);
    }
    return list;
  }
};

TEST_F(ReadbackTest, EveryMethodGivesTheSameBytesAndNothingBesideTheSlot) {
  const OffscreenTarget target(size);
  for (const ReadbackMethod method : methods()) {
    SCOPED_TRACE(name(method));
    Readback readback(size.width, size.height, method);
    const auto block = HostBlock::create("readback", 65536);
    std::ranges::fill(block->bytes(), std::byte{0xa5});
    draw_two_colours(target, 0.75F);
    const auto wanted = read_back(target);
    target.bind();
    constexpr std::uint64_t offset = 8192;
    readback.begin(block, offset, block->bytes().subspan(offset, bytes + 100));
    EXPECT_EQ(readback.in_flight(), 1U);
    ASSERT_TRUE(readback.wait_finished(soon_ns()));
    EXPECT_EQ(readback.in_flight(), 0U);
    EXPECT_TRUE(equal(block->bytes().subspan(offset, bytes), wanted));
    const auto untouched = [](std::byte b) { return b == std::byte{0xa5}; };
    EXPECT_TRUE(std::ranges::all_of(block->bytes().first(offset), untouched));
    EXPECT_TRUE(std::ranges::all_of(block->bytes().subspan(offset + bytes), untouched));
    EXPECT_EQ(readback.method(), method);
  }
}

TEST_F(ReadbackTest, ThreeUnderWayFinishInTheirOrder) {
  const OffscreenTarget target(size);
  for (const ReadbackMethod method : methods()) {
    SCOPED_TRACE(name(method));
    Readback readback(size.width, size.height, method);
    const auto block = HostBlock::create("readback", std::uint64_t{3} * 12288);
    std::vector<std::vector<std::byte>> wanted;
    for (std::size_t i = 0; i < Readback::max_in_flight; ++i) {
      draw_two_colours(target, 0.2F * static_cast<float>(i));
      wanted.push_back(read_back(target));
      target.bind();
      readback.begin(block, i * 12288, block->bytes().subspan(i * 12288, 12288));
    }
    for (std::size_t i = 0; i < Readback::max_in_flight; ++i) {
      ASSERT_TRUE(readback.wait_finished(soon_ns()));
      EXPECT_TRUE(equal(block->bytes().subspan(i * 12288, bytes), wanted.at(i))) << i;
    }
    EXPECT_FALSE(readback.finished());  // no readback is pending
  }
}

TEST_F(ReadbackTest, SlicesFinishOneByOne) {
  constexpr Size large{100, 203};  // rows of 400 bytes, which no slice ends with
  constexpr std::size_t size_bytes = std::size_t{large.width} * large.height * 4;
  const OffscreenTarget target(large);
  for (const ReadbackMethod method : methods()) {
    for (const int tried : {1, 2, 7, 64}) {
      const auto slices = static_cast<std::uint16_t>(tried);
      SCOPED_TRACE(std::string(name(method)) + ", " + std::to_string(slices));
      Readback readback(large.width, large.height, method, slices);
      EXPECT_EQ(readback.slices(), possible_slices(size_bytes, slices));
      const auto block = HostBlock::create("readback", std::uint64_t{2} * 90112);
      std::vector<std::vector<std::byte>> wanted;
      for (std::size_t i = 0; i < 2; ++i) {
        draw_two_colours(target, 0.3F + 0.2F * static_cast<float>(i));
        wanted.push_back(read_back(target));
        target.bind();
        readback.begin(block, i * 90112, block->bytes().subspan(i * 90112, 90112));
      }
      for (std::size_t i = 0; i < 2; ++i) {
        for (std::uint16_t slice = 0; slice < readback.slices(); ++slice) {
          EXPECT_EQ(readback.in_flight(), 2 - i);
          ASSERT_TRUE(readback.wait_slice(soon_ns()));
          const ByteRange range = slice_range(size_bytes, readback.slices(), slice);
          const auto wanted_slice = std::span(wanted.at(i)).subspan(range.offset_bytes, range.size_bytes);
          EXPECT_TRUE(equal(block->bytes().subspan(i * 90112 + range.offset_bytes, range.size_bytes), wanted_slice));
        }
      }
      EXPECT_EQ(readback.in_flight(), 0U);
      EXPECT_FALSE(readback.wait_slice(0));
    }
  }
}

TEST_F(ReadbackTest, AnotherBlockIsTakenAtOnce) {
  const OffscreenTarget target(size);
  for (const ReadbackMethod method : methods()) {
    SCOPED_TRACE(name(method));
    Readback readback(size.width, size.height, method);
    for (int i = 0; i < 7; ++i) {  // more blocks than are remembered
      const auto block = HostBlock::create("readback", bytes);
      draw_two_colours(target, 0.1F * static_cast<float>(i));
      const auto wanted = read_back(target);
      target.bind();
      readback.begin(block, 0, block->bytes());
      ASSERT_TRUE(readback.wait_finished(soon_ns()));
      EXPECT_TRUE(equal(block->bytes().first(bytes), wanted)) << i;
    }
  }
}

TEST_F(ReadbackTest, FallsBackWhenTheDriverCannotPinTheBlock) {
  if (!WrappedBlocks::takes_host_memory()) {
    GTEST_SKIP() << "the driver pins nothing";
  }
  const OffscreenTarget target(size);
  Readback readback(size.width, size.height);
  EXPECT_EQ(readback.method(), ReadbackMethod::pinned_memory);
  // Memory at a different address than the block's, like a driver that pins a copy.
  const auto block = HostBlock::create("readback", 65536);
  const auto elsewhere = HostBlock::create("readback", 65536);
  draw_two_colours(target, 0.6F);
  const auto wanted = read_back(target);
  target.bind();
  readback.begin(block, 0, elsewhere->bytes());
  ASSERT_TRUE(readback.wait_finished(soon_ns()));
  EXPECT_EQ(readback.method(), ReadbackMethod::persistent_buffer);
  EXPECT_TRUE(equal(elsewhere->bytes().first(bytes), wanted));
}

TEST_F(ReadbackTest, AnImpossibleSizeIsOneError) {
  try {
    const Readback readback(1U << 20, 1U << 20, ReadbackMethod::persistent_buffer);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("--size"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace framewire
