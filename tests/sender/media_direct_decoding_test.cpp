// libav decodes frames directly into the stream's slots.
#include <gtest/gtest.h>

#include "sender/sources/media/av_source.hpp"
#include "tests/base/logs.hpp"
#include "tests/media/media_files.hpp"
#include "tests/sender/media_viewer.hpp"

namespace framewire {
namespace {

using namespace test;

constexpr std::size_t held_by_viewer = 3;  // the viewer's quota

struct Coded {
  const char* name;
  const char* encode;
  const char* pixel_format;
  bool is_placed = true;
};

class DirectDecodingTest : public ::testing::Test {
 protected:
  /// 48 frames, enough to use every slot several times.
  std::string make(const Coded& coded, const char* width = "640", const char* height = "360") {
    std::string file = folder_.file(coded.name);
    ffmpeg(test_pictures(width, height, 25, 48) + coded.encode + " -pix_fmt " + coded.pixel_format + " " + file);
    return file;
  }

  static SourceOptions unpaced(const std::string& name) {
    SourceOptions options;
    options.name = name;
    options.realtime = false;
    return options;
  }

  TemporaryFolder folder_;
  test::ShownLog log_;
};

class DirectCodecTest : public DirectDecodingTest, public ::testing::WithParamInterface<Coded> {};

/// Frames that the viewer holds do not change while the decoder reads them and fills other slots.
TEST_P(DirectCodecTest, EveryPictureIsWhatFfmpegDecodesAndStaysSoWhileItIsShown) {
  const Coded& coded = GetParam();
  const std::string file = make(coded);
  AvSource source(unpaced(file), log_);
  const Shown shown = show(source, {}, true, held_by_viewer);
  EXPECT_EQ(shown.error, "");
  ASSERT_EQ(shown.frames.size(), 48U);
  EXPECT_TRUE(are_equal(joined(shown.frames), decoded_by_ffmpeg(folder_, file, coded.pixel_format)));
  EXPECT_EQ(shown.frames_changed, 0U);
  if (coded.is_placed) {
    // The first frames are decoded before the required slot size is known.
    EXPECT_GE(source.frames_placed(), 24U);
  } else {
    EXPECT_EQ(source.frames_placed(), 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Codecs, DirectCodecTest,
    ::testing::Values(Coded{"h264.mkv", "-c:v libx264 -preset fast -bf 3 -refs 4", "yuv420p"},
                      Coded{"h264_10.mkv", "-c:v libx264 -preset ultrafast", "yuv420p10le"},
                      Coded{"many_references.mkv", "-c:v libx264 -preset ultrafast -x264-params ref=16", "yuv420p"},
                      Coded{"mpeg2.mkv", "-c:v mpeg2video -bf 2 -q:v 2", "yuv420p"},
                      Coded{"mpeg4.avi", "-c:v mpeg4 -q:v 2", "yuv420p"}, Coded{"ffv1.mkv", "-c:v ffv1", "yuv422p"},
                      Coded{"mjpeg.avi", "-c:v mjpeg -q:v 2", "yuvj422p"},
                      Coded{"huffyuv.avi", "-c:v huffyuv", "yuv422p"}, Coded{"raw.y4m", "", "yuv420p", false}),
    [](const auto& test) { return std::string(test.param.name, std::string(test.param.name).find('.')); });

TEST_F(DirectDecodingTest, RowsOfAnOddWidthThatWouldTravelPaddedAreCopied) {
  const std::string file = make({"narrow.mkv", "-c:v ffv1", "yuv420p"}, "98", "66");
  AvSource source(unpaced(file), log_);
  const Shown shown = show(source);
  EXPECT_EQ(source.frames_placed(), 0U);
  EXPECT_TRUE(are_equal(joined(shown.frames), decoded_by_ffmpeg(folder_, file, "yuv420p")));
}

TEST_F(DirectDecodingTest, WhatIsConvertedIsNotPlaced) {
  const std::string file = make({"rgb.mkv", "-c:v ffv1", "yuv420p"});
  SourceOptions options = unpaced(file);
  options.pixel_format = PixelFormat::rgba;
  AvSource source(options, log_);
  EXPECT_EQ(show(source).frames.size(), 48U);
  EXPECT_EQ(source.frames_placed(), 0U);
}

TEST_F(DirectDecodingTest, LoopsAndChangesOfFormatKeepEveryPicture) {
  std::vector<std::byte> both;
  std::vector<std::byte> wanted;
  for (const char* width : {"640", "1280"}) {
    const std::string part = make({"part.h264", "-c:v libx264 -preset ultrafast -bf 2", "yuv420p"}, width);
    const std::vector<std::byte> bytes = read_file(part);
    both.insert(both.end(), bytes.begin(), bytes.end());
    const std::vector<std::byte> pictures = decoded_by_ffmpeg(folder_, part, "yuv420p");
    wanted.insert(wanted.end(), pictures.begin(), pictures.end());
  }
  const std::string file = folder_.file("both.h264");
  write_file(file, both);
  SourceOptions options = unpaced(file);
  options.loop = true;
  AvSource source(options, log_);
  StreamOptions limited;
  limited.max_frames = 2 * 96;
  const Shown shown = show(source, limited, true, held_by_viewer);
  EXPECT_EQ(shown.error, "");
  const std::size_t once = wanted.size();
  wanted.insert(wanted.end(), wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(once));
  EXPECT_TRUE(are_equal(joined(shown.frames), wanted));
  EXPECT_EQ(shown.frames_changed, 0U);
  EXPECT_GE(source.frames_placed(), 96U);
}

/// The decoder's threads may still hold slots when the stream is destroyed. They may also have begun a frame of the
/// next size when an epoch of the current size begins.
TEST_F(DirectDecodingTest, NoSlotIsLargerThanAViewerTakes) {
  std::vector<std::byte> both;
  for (int i = 0; i < 12; ++i) {
    const bool is_small = i % 2 == 0;
    const std::string part = folder_.file("part.h264");
    ffmpeg(test_pictures(is_small ? "160" : "1920", is_small ? "96" : "1080", 25, 2) +
           "-c:v libx264 -preset ultrafast -bf 0 -pix_fmt yuv420p " + part);
    const std::vector<std::byte> bytes = read_file(part);
    both.insert(both.end(), bytes.begin(), bytes.end());
  }
  const std::string file = folder_.file("both.h264");
  write_file(file, both);
  AvSource source(unpaced(file), log_);
  const Shown shown = show(source, {}, false);
  EXPECT_EQ(shown.error, "");
  EXPECT_EQ(shown.frames.size(), 24U);
  EXPECT_EQ(shown.ring_fault, "");
}

TEST_F(DirectDecodingTest, TheSourceMayOutliveItsStream) {
  const std::string file = make({"ends.mkv", "-c:v libx264 -preset fast -bf 3", "yuv420p"});
  StreamOptions limited;
  limited.max_frames = 20;
  AvSource source(unpaced(file), log_);
  EXPECT_EQ(show(source, limited).frames.size(), 20U);
}

}  // namespace
}  // namespace framewire
