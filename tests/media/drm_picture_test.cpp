#include "media/drm_picture.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"

namespace framewire::libav {
namespace {

constexpr std::uint32_t r8 = 0x20203852;
constexpr std::uint32_t gr88 = 0x38385247;
constexpr std::uint32_t rg88 = 0x38384752;
constexpr std::uint32_t r16 = 0x20363152;
constexpr std::uint32_t gr1616 = 0x32335247;
constexpr std::uint32_t nv12 = 0x3231564E;
constexpr std::uint32_t p010 = 0x30313050;
constexpr std::uint64_t tiled = 0x0100000000000001;

constexpr std::ptrdiff_t pitch = 384;
constexpr std::ptrdiff_t chroma_at = pitch * 200;
constexpr std::size_t buffer_bytes = 384 * 300;

/// A descriptor of its own, of so many bytes: for its size the kernel treats it as a DMA-BUF.
FileDescriptor buffer(std::size_t size_bytes) {
  FileDescriptor made(::memfd_create("test", MFD_CLOEXEC));
  EXPECT_EQ(::ftruncate(made.get(), static_cast<off_t>(size_bytes)), 0);
  return made;
}

class DrmPicture : public ::testing::Test {
 protected:
  /// A surface of 320x192 with a picture of 320x180.
  AVDRMFrameDescriptor separate(std::uint32_t luma = r8, std::uint32_t chroma = gr88) const {
    AVDRMFrameDescriptor made{};
    made.nb_objects = 1;
    made.objects[0] = {.fd = buffer_.get(), .size = buffer_bytes, .format_modifier = linear_modifier};
    made.nb_layers = 2;
    made.layers[0] = {.format = luma, .nb_planes = 1, .planes = {{.object_index = 0, .offset = 0, .pitch = pitch}}};
    made.layers[1] = {
        .format = chroma, .nb_planes = 1, .planes = {{.object_index = 0, .offset = chroma_at, .pitch = pitch}}};
    return made;
  }

  static DmaBufPicture picture(const AVDRMFrameDescriptor& descriptor, PixelFormat format = PixelFormat::nv12) {
    return picture_in(descriptor, {.surface_width = 320, .surface_height = 192, .left = 0, .top = 0},
                      packed_layout(format, 320, 180));
  }

  static std::string refusal(const std::function<DmaBufPicture()>& make) {
    try {
      static_cast<void>(make());
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  /// Why the descriptor is refused when `change` has changed it.
  std::string refusal_of(const std::function<void(AVDRMFrameDescriptor&)>& change) const {
    AVDRMFrameDescriptor changed = separate();
    change(changed);
    return refusal([&] { return picture(changed); });
  }

  FileDescriptor buffer_ = buffer(buffer_bytes);
};

TEST_F(DrmPicture, HasTheDriversPlaces) {
  const DmaBufPicture got = picture(separate());
  EXPECT_EQ(got.component_bytes, 1U);
  EXPECT_EQ(got.size_bytes(), 320U * 180 * 3 / 2);
  const DmaBufPlane& luma = got.planes[0];
  const DmaBufPlane& chroma = got.planes[1];
  EXPECT_EQ(luma.descriptor, buffer_.get());
  EXPECT_EQ(luma.modifier, linear_modifier);
  EXPECT_EQ(std::vector({luma.width, luma.height, luma.columns, luma.rows, luma.offset_bytes, luma.pitch_bytes}),
            std::vector({320U, 192U, 320U, 180U, 0U, 384U}));
  EXPECT_EQ(
      std::vector({chroma.width, chroma.height, chroma.columns, chroma.rows, chroma.offset_bytes, chroma.components}),
      std::vector({160U, 96U, 160U, 90U, 76800U, 2U}));
}

TEST_F(DrmPicture, IsTheSameInOneLayerAndInTwoBuffers) {
  AVDRMFrameDescriptor composed = separate();
  composed.nb_layers = 1;
  composed.layers[0] = {.format = nv12,
                        .nb_planes = 2,
                        .planes = {{.object_index = 0, .offset = 0, .pitch = pitch},
                                   {.object_index = 0, .offset = chroma_at, .pitch = pitch}}};
  EXPECT_EQ(picture(composed).planes[1].offset_bytes, 76800U);

  const FileDescriptor second = buffer(384 * 96);
  AVDRMFrameDescriptor two = separate(r8, rg88);
  two.nb_objects = 2;
  two.objects[1] = {.fd = second.get(), .size = 0, .format_modifier = tiled};  // the kernel knows the size
  two.layers[1].planes[0] = {.object_index = 1, .offset = 0, .pitch = pitch};
  EXPECT_EQ(picture(two).planes[1].descriptor, second.get());
  EXPECT_EQ(picture(two).planes[1].modifier, tiled);
}

TEST_F(DrmPicture, HasTwoBytesInP010) {
  AVDRMFrameDescriptor wide = separate(r16, gr1616);
  EXPECT_NE(refusal([&] { return picture(wide, PixelFormat::p010le); }), "") << "640 bytes in a row of 384";
  const FileDescriptor large = buffer(700 * 300);
  wide.objects[0] = {.fd = large.get(), .size = 700 * 300, .format_modifier = no_modifier};
  wide.layers[0].planes[0].pitch = wide.layers[1].planes[0].pitch = 700;
  wide.layers[1].planes[0].offset = 700 * 192;
  const DmaBufPicture got = picture(wide, PixelFormat::p010le);
  EXPECT_EQ(got.component_bytes, 2U);
  EXPECT_EQ(got.planes[0].columns, 320U);
  EXPECT_EQ(got.planes[1].columns, 160U);
  EXPECT_EQ(got.size_bytes(), 320U * 180 * 3);
  wide.nb_layers = 1;
  wide.layers[0] = {.format = p010, .nb_planes = 2, .planes = {wide.layers[0].planes[0], wide.layers[1].planes[0]}};
  EXPECT_EQ(picture(wide, PixelFormat::p010le).planes[1].offset_bytes, 700U * 192);
}

TEST_F(DrmPicture, BeginsBehindWhatIsCropped) {
  const DmaBufPicture got = picture_in(separate(), {.surface_width = 320, .surface_height = 192, .left = 16, .top = 6},
                                       packed_layout(PixelFormat::nv12, 284, 164));
  EXPECT_EQ(std::vector({got.planes[0].first_column, got.planes[0].first_row, got.planes[0].columns}),
            std::vector({16U, 6U, 284U}));
  EXPECT_EQ(std::vector({got.planes[1].first_column, got.planes[1].first_row, got.planes[1].rows}),
            std::vector({8U, 3U, 82U}));
}

TEST_F(DrmPicture, NonsenseIsRefused) {
  using Descriptor = AVDRMFrameDescriptor;
  const std::vector<std::function<void(Descriptor&)>> changes = {
      [](Descriptor& d) { d.nb_objects = 0; },
      [](Descriptor& d) { d.nb_objects = 5; },
      [](Descriptor& d) { d.nb_layers = -1; },
      [](Descriptor& d) { d.nb_layers = 3; },
      [](Descriptor& d) { d.layers[0].format = gr88; },
      [](Descriptor& d) { d.layers[1].nb_planes = 2; },
      [](Descriptor& d) { d.layers[1].planes[0].object_index = 1; },
      [](Descriptor& d) { d.layers[1].planes[0].object_index = -1; },
      [](Descriptor& d) { d.layers[1].planes[0].offset = -1; },
      [](Descriptor& d) { d.layers[1].planes[0].offset = PTRDIFF_MAX; },
      [](Descriptor& d) { d.layers[1].planes[0].offset = buffer_bytes - pitch; },
      [](Descriptor& d) { d.layers[0].planes[0].pitch = 319; },
      [](Descriptor& d) { d.layers[0].planes[0].pitch = 0; },
      [](Descriptor& d) { d.layers[0].planes[0].pitch = PTRDIFF_MAX; },
      [](Descriptor& d) { d.layers[0].planes[0].pitch = INT32_MAX; },
      [](Descriptor& d) { d.objects[0].fd = -1; },
      [](Descriptor& d) { d.objects[0].size = buffer_bytes + 1; },
      [](Descriptor& d) { d.objects[0].size = pitch * 100; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    EXPECT_TRUE(refusal_of(changes[i]).starts_with("the VA-API driver describes a DMA-BUF with ")) << i;
  }
  EXPECT_EQ(refusal_of([](Descriptor& d) { d.layers[0].planes[0].pitch = 319; }),
            "the VA-API driver describes a DMA-BUF with offset 0 and pitch 319 for 320x192 texels in 115200 bytes");
  EXPECT_EQ(refusal_of([](Descriptor& /*unchanged*/) {}), "");
}

/// How large such a plane is, only the driver knows; its import checks it.
TEST_F(DrmPicture, OnlyTheOffsetOfATiledPlaneIsKnown) {
  const auto tile = [](AVDRMFrameDescriptor& d) { d.objects[0].format_modifier = tiled; };
  EXPECT_EQ(refusal_of([&](AVDRMFrameDescriptor& d) {
              tile(d);
              d.layers[0].planes[0].pitch = 100;
            }),
            "");
  EXPECT_NE(refusal_of([&](AVDRMFrameDescriptor& d) {
              tile(d);
              d.layers[1].planes[0].offset = buffer_bytes;
            }),
            "");
}

TEST_F(DrmPicture, APictureLargerThanItsSurfaceIsRefused) {
  const auto taken = [this](std::uint32_t left, std::uint32_t top, PixelFormat format) {
    return refusal([&] {
      return picture_in(separate(), {.surface_width = 320, .surface_height = 192, .left = left, .top = top},
                        packed_layout(format, 320, 180));
    });
  };
  EXPECT_EQ(taken(0, 12, PixelFormat::nv12), "");
  EXPECT_EQ(taken(0, 13, PixelFormat::nv12), "a decoded picture is smaller than the 320x180 that it is said to have");
  EXPECT_NE(taken(UINT32_MAX, 0, PixelFormat::nv12), "");
  EXPECT_EQ(taken(0, 0, PixelFormat::yuv444p), "pictures in yuv444p are not read from DMA-BUFs");
}

}  // namespace
}  // namespace framewire::libav
