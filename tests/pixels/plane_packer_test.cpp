#include "gl/plane_packer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "tests/pixels/gl_test.hpp"
#include "tests/pixels/plane_textures.hpp"

namespace framewire {
namespace {

using namespace test;

class PlanePackerTest : public GlTest {
 protected:
  /// The picture's bytes behind `offset_bytes` of a block, and that nothing beside them was written.
  static void expect_packed(const DmaBufPicture& picture, std::uint64_t offset_bytes) {
    const PlaneTextures source(picture);
    PlanePacker packer(picture);
    const auto block = HostBlock::create("test", offset_bytes + picture.size_bytes() + 4096);
    std::ranges::fill(block->bytes(), std::byte{0x5A});
    EXPECT_EQ(packer.begin(picture, source.names(), block, offset_bytes), static_cast<GLenum>(GL_NO_ERROR));
    EXPECT_EQ(packer.in_flight(), 1U);
    EXPECT_TRUE(packer.wait_finished(monotonic_ns() + 20 * ns_per_s));
    EXPECT_EQ(packer.in_flight(), 0U);
    EXPECT_EQ(glGetError(), static_cast<GLenum>(GL_NO_ERROR));
    const auto written = block->bytes().subspan(offset_bytes, picture.size_bytes());
    EXPECT_TRUE(std::ranges::equal(written, source.packed())) << picture.planes[0].columns;
    const auto is_untouched = [](std::byte one) { return one == std::byte{0x5A}; };
    EXPECT_TRUE(std::ranges::all_of(block->bytes().first(offset_bytes), is_untouched));
    EXPECT_TRUE(
        std::ranges::all_of(block->bytes().subspan(offset_bytes + (picture.size_bytes() + 3) / 4 * 4), is_untouched));
  }
};

TEST_F(PlanePackerTest, EveryByteComesToItsPlace) {
  for (const std::uint32_t component_bytes : {1U, 2U}) {
    for (const Size size : {Size{64, 32}, Size{322, 182}, Size{6, 2}, Size{2, 2}, Size{4098, 6}}) {
      expect_packed(shape(size, component_bytes), 0);
      expect_packed(shape(size, component_bytes), 8192);
    }
  }
}

TEST_F(PlanePackerTest, OnlyThePartThatIsWanted) {
  for (const std::uint32_t component_bytes : {1U, 2U}) {
    expect_packed(part_of(shape({320, 192}, component_bytes), {284, 164}, 16, 6), 4096);
  }
}

TEST_F(PlanePackerTest, SeveralAreInFlightAndEndInOrder) {
  const DmaBufPicture picture = shape({66, 34}, 1);
  PlanePacker packer(picture);
  const auto block = HostBlock::create("test", 4 * 4096);
  std::vector<PlaneTextures> sources;
  for (unsigned i = 0; i < PlanePacker::max_in_flight; ++i) {
    sources.emplace_back(picture, i);
    EXPECT_EQ(packer.begin(picture, sources.back().names(), block, i * 4096), static_cast<GLenum>(GL_NO_ERROR));
  }
  for (unsigned i = 0; i < PlanePacker::max_in_flight; ++i) {
    ASSERT_TRUE(packer.wait_finished(monotonic_ns() + 20 * ns_per_s));
    EXPECT_TRUE(std::ranges::equal(block->bytes().subspan(i * 4096, picture.size_bytes()), sources[i].packed())) << i;
  }
  EXPECT_FALSE(packer.wait_finished(0));
}

TEST_F(PlanePackerTest, KnowsItsShape) {
  const PlanePacker packer(shape({64, 32}, 1));
  EXPECT_TRUE(packer.fits(part_of(shape({128, 64}, 1), {64, 32}, 8, 8)));
  EXPECT_FALSE(packer.fits(shape({64, 34}, 1)));
  EXPECT_FALSE(packer.fits(shape({64, 32}, 2)));
}

TEST_F(PlanePackerTest, APictureThatTheDriverCannotDrawIsAnError) {
  EXPECT_THROW(PlanePacker(shape({32768, 32768}, 2)), Error);
}

}  // namespace
}  // namespace framewire
