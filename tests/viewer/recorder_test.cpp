#include "viewer/recorder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "base/error.hpp"
#include "tests/base/kept_log.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/viewer/received_frames.hpp"

namespace framewire {
namespace {

class RecorderTest : public testing::Test {
 protected:
  test::KeptLog kept_;
  Interruption interruption_;
  FrameMaker frames_;
  test::TemporaryFolder folder_;
  std::string file_ = folder_.file("film.raw");
};

TEST_F(RecorderTest, DoesNothingWithoutAFile) {
  const Recorder recorder(std::nullopt, kept_.log(), interruption_);
  EXPECT_FALSE(recorder.is_recording());
  EXPECT_FALSE(recorder.has_failed());
}

TEST_F(RecorderTest, WritesEveryFrameItIsGiven) {
  Recorder recorder(file_, kept_.log(), interruption_);
  EXPECT_TRUE(recorder.is_recording());
  EXPECT_TRUE(recorder.record(frames_.make(1), std::nullopt));
  EXPECT_TRUE(recorder.record(frames_.make(2), std::nullopt));
  recorder.finish();
  EXPECT_EQ(std::filesystem::file_size(file_), 2 * frames_.layout().size_bytes);
  EXPECT_FALSE(recorder.has_failed());
}

TEST_F(RecorderTest, StopsOnAFullDiskAndSaysSoOnce) {
  Recorder recorder("/dev/full", kept_.log(), interruption_);
  EXPECT_FALSE(recorder.record(frames_.make(1), std::nullopt));
  EXPECT_FALSE(recorder.is_recording());
  EXPECT_TRUE(recorder.has_failed());
  EXPECT_NE(kept_.text(), "");
}

TEST_F(RecorderTest, RefusesAFileThatCannotBeOpened) {
  EXPECT_THROW(Recorder("/nonexistent/film.y4m", kept_.log(), interruption_), Error);
}

}  // namespace
}  // namespace framewire
