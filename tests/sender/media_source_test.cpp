#include "sender/sources/media/av_source.hpp"
#include "tests/base/logs.hpp"

#include <gtest/gtest.h>

#include "tests/media/media_files.hpp"
#include "tests/sender/media_viewer.hpp"

namespace framewire {
namespace {

using namespace test;

class AvSourceTest : public ::testing::Test {
 protected:
  static SourceOptions unpaced(const std::string& name) {
    SourceOptions options;
    options.name = name;
    options.realtime = false;
    return options;
  }

  TemporaryFolder folder_;
  test::ShownLog log_;
};

TEST_F(AvSourceTest, EveryPictureArrivesUnchanged) {
  const std::string file = folder_.file("h264.mp4");
  ffmpeg(test_pictures("322", "182", 25, 15) + "-c:v libx264 -preset fast -bf 2 -pix_fmt yuv420p " + file);
  AvSource source(unpaced(file), log_);
  EXPECT_EQ(source.describe(), file + ", h264, 322x182 yuv420p 25 fps");
  const Shown shown = show(source);
  EXPECT_EQ(shown.error, "");
  ASSERT_EQ(shown.frames.size(), 15U);
  EXPECT_TRUE(are_equal(joined(shown.frames), decoded_by_ffmpeg(folder_, file, "yuv420p")));
  for (std::size_t i = 0; i < 15; ++i) {
    EXPECT_EQ(shown.frames.at(i).header.pts_ns, static_cast<std::int64_t>(i) * 40 * ns_per_ms);
  }
}

TEST_F(AvSourceTest, LoopGoesOnWithTimeAndPictures) {
  const std::string file = folder_.file("loop.mkv");
  ffmpeg(test_pictures("64", "48", 50, 5) + "-c:v ffv1 -pix_fmt yuv420p " + file);
  SourceOptions options = unpaced(file);
  options.loop = true;
  AvSource source(options, log_);
  StreamOptions limited;
  limited.max_frames = 13;
  const Shown shown = show(source, limited);
  ASSERT_EQ(shown.frames.size(), 13U);
  for (std::size_t i = 0; i < 13; ++i) {
    EXPECT_EQ(shown.frames.at(i).header.pts_ns, static_cast<std::int64_t>(i) * 20 * ns_per_ms);
    EXPECT_TRUE(shown.frames.at(i).payload == shown.frames.at(i % 5).payload) << i;
  }
}

TEST_F(AvSourceTest, TimesThatDoNotFitAreTheLatest) {
  // The second picture comes 292 years after the first: another millisecond would not fit.
  SourceOptions options =
      unpaced("lavfi:testsrc2=size=32x32:rate=25:duration=0.08,settb=1/1000,setpts=if(eq(N\\,0)\\,0\\,9223372036854)");
  options.loop = true;
  AvSource source(options, log_);
  StreamOptions limited;
  limited.max_frames = 4;
  const Shown shown = show(source, limited);
  ASSERT_EQ(shown.frames.size(), 4U) << shown.error;
  EXPECT_EQ(shown.frames.at(1).header.pts_ns, 9223372036854 * ns_per_ms);
  EXPECT_EQ(shown.frames.at(2).header.pts_ns, INT64_MAX);
  EXPECT_EQ(shown.frames.at(3).header.pts_ns, INT64_MAX);
}

TEST_F(AvSourceTest, AChangeOfSizeBeginsAnEpoch) {
  std::vector<std::byte> both;
  for (const char* side : {"64", "128"}) {
    const std::string part = folder_.file("part.h264");
    ffmpeg(test_pictures(side, "48", 25, 3) + "-c:v libx264 -pix_fmt yuv420p " + part);
    const std::vector<std::byte> bytes = read_file(part);
    both.insert(both.end(), bytes.begin(), bytes.end());
  }
  const std::string file = folder_.file("both.h264");
  write_file(file, both);
  AvSource source(unpaced(file), log_);
  const Shown shown = show(source);
  ASSERT_EQ(shown.frames.size(), 6U) << shown.error;
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(shown.frames.at(i).header.epoch, i < 3 ? 1U : 2U);
    EXPECT_EQ(shown.frames.at(i).header.layout.width, i < 3 ? 64U : 128U);
    EXPECT_EQ(shown.frames.at(i).payload.size(), shown.frames.at(i).header.layout.size_bytes);
  }
}

TEST_F(AvSourceTest, AFileThatBreaksOffGivesItsGoodFramesThenAnError) {
  const std::string file = folder_.file("cut.mkv");
  ffmpeg(test_pictures("128", "96", 25, 20) + "-c:v ffv1 -pix_fmt yuv420p " + file);
  std::vector<std::byte> bytes = read_file(file);
  bytes.resize(bytes.size() / 2);
  write_file(file, bytes);
  AvSource source(unpaced(file), log_);
  const Shown shown = show(source);
  EXPECT_GE(shown.frames.size(), 5U);
  EXPECT_LT(shown.frames.size(), 20U);
  EXPECT_EQ(shown.error.find("'" + file + "' breaks off after " + std::to_string(shown.frames.size()) + " frames: "),
            0U)
      << shown.error;
}

TEST_F(AvSourceTest, InRealTimeNoFrameIsEarly) {
  SourceOptions options = unpaced("lavfi:testsrc2=size=32x32:rate=100");
  options.realtime = true;
  AvSource source(options, log_);
  StreamOptions limited;
  limited.max_frames = 6;
  const std::int64_t start_ns = monotonic_ns();
  const Shown shown = show(source, limited);
  ASSERT_EQ(shown.frames.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_GE(shown.frames.at(i).header.times.completed_ns - start_ns, static_cast<std::int64_t>(i) * 10 * ns_per_ms);
  }
}

TEST_F(AvSourceTest, StopEndsIt) {
  AvSource source(unpaced("lavfi:testsrc2=size=32x32:rate=100"), log_);
  Stream stream({});
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stream.stop();
  });
  source.run(stream);  // without a viewer: it waits in claim()
  stopper.join();
  EXPECT_EQ(stream.frames_produced(), 0U);
}

}  // namespace
}  // namespace framewire
