#include "viewer/recorder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "base/error.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/media/media_files.hpp"
#include "tests/viewer/received_frames.hpp"

namespace framewire {
namespace {

class RecorderTest : public testing::Test {
 protected:
  test::KeptLog kept_;
  Interruption interruption_;
  VirtualClock clock_;
  FrameMaker frames_;
  test::TemporaryFolder folder_;
  std::string file_ = folder_.file("film.raw");
};

TEST_F(RecorderTest, DoesNothingWithoutAFile) {
  const Recorder recorder(std::nullopt, clock_, kept_, interruption_);
  EXPECT_FALSE(recorder.is_recording());
  EXPECT_FALSE(recorder.has_failed());
}

TEST_F(RecorderTest, WritesEveryFrameItIsGiven) {
  Recorder recorder(file_, clock_, kept_, interruption_);
  EXPECT_TRUE(recorder.is_recording());
  EXPECT_TRUE(recorder.record(frames_.make(1), std::nullopt));
  EXPECT_TRUE(recorder.record(frames_.make(2), std::nullopt));
  recorder.finish();
  EXPECT_EQ(std::filesystem::file_size(file_), 2 * frames_.layout().size_bytes);
  EXPECT_FALSE(recorder.has_failed());
}

/// Skipped frames do not make a recording shorter than its stream.
TEST_F(RecorderTest, RepeatsInY4mForFramesThatWereSkipped) {
  const std::string film = folder_.file("film.y4m");
  FrameMaker gray(PixelFormat::gray8);
  StreamFormat format{.layout = gray.layout(), .colour = {}};
  format.frame_rate = {25, 1};
  Recorder recorder(film, clock_, kept_, interruption_);
  EXPECT_EQ(recorder.record(gray.make(10, 1), format), 1U);
  EXPECT_EQ(recorder.record(gray.make(11, 2), format), 1U);
  EXPECT_EQ(recorder.record(gray.make(15, 3), format), 4U) << "three were skipped";
  EXPECT_EQ(recorder.record(gray.make(115, 4), format), 26U) << "no more than a second";
  EXPECT_EQ(recorder.frames_missing(), 74U);
  recorder.finish();
  const auto bytes = test::read_file(film);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::size_t frames = 0;
  for (std::size_t at = text.find("FRAME\n"); at != std::string::npos; at = text.find("FRAME\n", at + 1)) {
    ++frames;
  }
  EXPECT_EQ(frames, 32U);
  EXPECT_NE(kept_.text().find("lacks 74 skipped frames"), std::string::npos) << kept_.text();
}

TEST_F(RecorderTest, RepeatsNothingWhereNoRateIsStated) {
  StreamFormat format{.layout = frames_.layout(), .colour = {}};
  format.frame_rate = {25, 1};
  Recorder raw(file_, clock_, kept_, interruption_);
  EXPECT_EQ(raw.record(frames_.make(1), format), 1U);
  EXPECT_EQ(raw.record(frames_.make(9), format), 1U) << "raw frames have no rate";
  Recorder unknown(folder_.file("film.y4m"), clock_, kept_, interruption_);
  EXPECT_EQ(unknown.record(frames_.make(1), std::nullopt), 1U);
  EXPECT_EQ(unknown.record(frames_.make(9), std::nullopt), 1U) << "nobody knows the rate";
}

TEST_F(RecorderTest, StopsOnAFullDiskAndSaysSoOnce) {
  Recorder recorder("/dev/full", clock_, kept_, interruption_);
  EXPECT_FALSE(recorder.record(frames_.make(1), std::nullopt));
  EXPECT_FALSE(recorder.is_recording());
  EXPECT_TRUE(recorder.has_failed());
  EXPECT_NE(kept_.text(), "");
}

TEST_F(RecorderTest, RefusesAFileThatCannotBeOpened) {
  EXPECT_THROW(Recorder("/nonexistent/film.y4m", clock_, kept_, interruption_), Error);
}

}  // namespace
}  // namespace framewire
