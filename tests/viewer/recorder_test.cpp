#include "viewer/recorder.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/media/media_files.hpp"
#include "tests/viewer/received_frames.hpp"

namespace framewire {
namespace {

class RecorderTest : public testing::Test {
 protected:
  RecorderTest() { standing_clock_.advance_to_ns(ns_per_s); }

  /// A recorder into `file`, which the test gives frames.
  std::unique_ptr<Recorder> record_to(const std::optional<std::string>& file) { return record_to(file, clock_); }
  std::unique_ptr<Recorder> record_to(const std::optional<std::string>& file, const Clock& clock) {
    return std::make_unique<Recorder>(file, clock, kept_, interruption_, statistics_, [this] { ++ends_; });
  }

  static constexpr auto wait = Recorder::WhenFull::wait;

  test::KeptLog kept_;
  Interruption interruption_;
  SystemClock clock_;
  VirtualClock standing_clock_;  // writing takes no time by it, so that it always keeps up
  Statistics statistics_;
  std::atomic<int> ends_ = 0;
  FrameMaker frames_;
  test::TemporaryFolder folder_;
  std::string file_ = folder_.file("film.raw");
};

TEST_F(RecorderTest, DoesNothingWithoutAFile) {
  const auto recorder = record_to(std::nullopt);
  EXPECT_FALSE(recorder->is_recording());
  recorder->record(frames_.make(1), std::nullopt, wait);
  recorder->finish();
  EXPECT_FALSE(recorder->has_failed());
  EXPECT_EQ(statistics_.counts().frames_unrecorded, 0U);
}

TEST_F(RecorderTest, WritesEveryFrameItIsGiven) {
  const auto recorder = record_to(file_);
  EXPECT_TRUE(recorder->is_recording());
  recorder->record(frames_.make(1), std::nullopt, wait);
  recorder->record(frames_.make(2), std::nullopt, wait);
  recorder->finish();
  EXPECT_EQ(std::filesystem::file_size(file_), 2 * frames_.layout().size_bytes);
  EXPECT_EQ(statistics_.counts().frames_recorded, 2U);
  EXPECT_FALSE(recorder->has_failed());
}

TEST_F(RecorderTest, WritesTheFramesInTheirOrderAndAsTheyWere) {
  const auto recorder = record_to(file_);
  for (std::uint8_t i = 0; i < 100; ++i) {
    recorder->record(frames_.make(i, i), std::nullopt, wait);  // every frame lies in the same memory
  }
  recorder->finish();
  const auto bytes = test::read_file(file_);
  ASSERT_EQ(bytes.size(), 100 * frames_.layout().size_bytes);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(std::to_integer<std::size_t>(bytes[i * frames_.layout().size_bytes]), i);
    EXPECT_EQ(std::to_integer<std::size_t>(bytes[(i + 1) * frames_.layout().size_bytes - 1]), i);
  }
}

TEST_F(RecorderTest, LeavesOutFramesThatTheirSenderMayHaveOverwritten) {
  const auto recorder = record_to(file_);
  recorder->record(frames_.make(1), std::nullopt, wait);
  frames_.withdraw();
  recorder->record(frames_.make(2), std::nullopt, wait);
  recorder->finish();
  EXPECT_EQ(std::filesystem::file_size(file_), frames_.layout().size_bytes);
  EXPECT_EQ(statistics_.counts().frames_recorded, 1U);
  EXPECT_EQ(statistics_.counts().frames_unrecorded, 1U);
}

/// Skipped frames do not make a recording shorter than its stream.
TEST_F(RecorderTest, RepeatsInY4mForFramesThatWereSkipped) {
  const std::string film = folder_.file("film.y4m");
  FrameMaker gray(PixelFormat::gray8);
  StreamFormat format{.layout = gray.layout(), .colour = {}};
  format.frame_rate = {25, 1};
  const auto recorder = record_to(film, standing_clock_);
  for (const std::uint64_t sequence : {10U, 11U, 15U, 115U}) {  // three were skipped, then more than a second
    recorder->record(gray.make(sequence), format, wait);
  }
  recorder->finish();
  EXPECT_EQ(recorder->frames_missing(), 74U);
  EXPECT_EQ(statistics_.counts().frames_recorded, 4U);
  EXPECT_EQ(statistics_.counts().frames_repeated, 28U);
  const auto bytes = test::read_file(film);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::size_t frames = 0;
  for (std::size_t at = text.find("FRAME\n"); at != std::string::npos; at = text.find("FRAME\n", at + 1)) {
    ++frames;
  }
  EXPECT_EQ(frames, 32U);
  EXPECT_NE(kept_.text().find("lacks 74 skipped frames"), std::string::npos) << kept_.text();
}

/// Nor does a change of the format: the numbers go on, and the first frame that came in the new one fills the gap. The
/// file keeps its first format.
TEST_F(RecorderTest, RepeatsInY4mForFramesThatWereSkippedWhileTheFormatChanged) {
  const std::string film = folder_.file("film.y4m");
  FrameMaker small(PixelFormat::gray8, 64, 36);
  FrameMaker large(PixelFormat::gray8, 128, 72);
  StreamFormat format{.layout = small.layout(), .colour = {}};
  format.frame_rate = {25, 1};
  StreamFormat next = format;
  next.layout = large.layout();
  next.frame_rate = {50, 1};
  const auto recorder = record_to(film, standing_clock_);
  recorder->record(small.make({.sequence = 10, .epoch = 1}, 10), format, wait);
  recorder->record(large.make({.sequence = 14, .epoch = 2}, 20), next, wait);  // 3 were skipped
  recorder->record(small.make({.sequence = 15, .epoch = 3}, 30), format, wait);
  recorder->record(large.make({.sequence = 56, .epoch = 4}, 40), next, wait);  // 40, and the file has 25 a second
  recorder->record(large.make({.sequence = 99, .epoch = 4, .session = 2}, 50), next, wait);
  recorder->finish();
  EXPECT_EQ(recorder->frames_missing(), 15U);
  EXPECT_NE(kept_.text().find("lacks 15 skipped frames"), std::string::npos) << kept_.text();
  EXPECT_EQ(statistics_.counts().frames_recorded, 5U);
  EXPECT_EQ(statistics_.counts().frames_repeated, 28U);
  const auto bytes = test::read_file(film);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t size_bytes = small.layout().size_bytes;
  std::vector<std::size_t> counts(6);  // of frames by their grey value, in tens
  std::size_t at = text.find("FRAME\n");
  for (; at + 6 + size_bytes <= text.size(); at += 6 + size_bytes) {
    ASSERT_EQ(text.substr(at, 6), "FRAME\n");
    ++counts.at((static_cast<unsigned char>(text[at + 6 + size_bytes / 2]) + 5U) / 10U);
  }
  EXPECT_EQ(at, text.size());
  EXPECT_EQ(counts, (std::vector<std::size_t>{0, 1, 4, 1, 26, 1}));
}

TEST_F(RecorderTest, RepeatsNothingWhereNoRateIsStated) {
  StreamFormat format{.layout = frames_.layout(), .colour = {}};
  format.frame_rate = {25, 1};
  const auto raw = record_to(file_);
  raw->record(frames_.make(1), format, wait);
  raw->record(frames_.make(9), format, wait);
  raw->finish();
  const auto unknown = record_to(folder_.file("film.y4m"));
  unknown->record(frames_.make(1), std::nullopt, wait);
  unknown->record(frames_.make(9), std::nullopt, wait);
  unknown->finish();
  EXPECT_EQ(statistics_.counts().frames_recorded, 4U);
  EXPECT_EQ(statistics_.counts().frames_repeated, 0U);
}

TEST_F(RecorderTest, StopsOnAFullDiskAndSaysSoOnce) {
  const auto recorder = record_to("/dev/full");
  recorder->record(frames_.make(1), std::nullopt, wait);
  EXPECT_TRUE(test::eventually([&] { return ends_ == 1; }));
  EXPECT_FALSE(recorder->is_recording());
  EXPECT_TRUE(recorder->has_failed());
  recorder->record(frames_.make(2), std::nullopt, wait);
  recorder->finish();
  EXPECT_NE(kept_.text().find("recording has stopped"), std::string::npos) << kept_.text();
  EXPECT_EQ(statistics_.counts().frames_recorded, 0U);
  EXPECT_EQ(statistics_.counts().frames_unrecorded, 2U);
}

TEST_F(RecorderTest, RefusesAFileThatCannotBeOpened) {
  EXPECT_THROW(record_to("/nonexistent/film.y4m"), Error);
}

/// A named pipe whose reader reads nothing: a pipe holds less than one of these frames.
class SlowReader : public RecorderTest {
 protected:
  SlowReader() {
    ::mkfifo(fifo_.c_str(), 0600);
    reader_.reset(::open(fifo_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    recorder_ = record_to(fifo_);
  }
  ~SlowReader() override { reader_.reset(); }

  FrameMaker large_{PixelFormat::rgba, 1280, 720};
  std::string fifo_ = folder_.file("frames");
  FileDescriptor reader_;
  std::unique_ptr<Recorder> recorder_;
};

TEST_F(SlowReader, DoesNotHoldFramesBack) {
  constexpr std::uint64_t count = 50;
  for (std::uint64_t i = 0; i < count; ++i) {
    recorder_->record(large_.make(i), std::nullopt, Recorder::WhenFull::leave_out);
  }
  EXPECT_EQ(statistics_.counts().frames_unrecorded, count - Recorder::most_waiting_frames);
  reader_.reset();  // leaves
  recorder_->finish();
  EXPECT_TRUE(recorder_->reader_has_left());
  EXPECT_EQ(statistics_.counts().frames_recorded + statistics_.counts().frames_unrecorded, count);
}

TEST_F(SlowReader, HoldsFramesBackIfNoneMayBeLeftOut) {
  std::atomic<int> recorded = 0;
  std::thread receiving([&] {
    for (std::uint64_t i = 0; i < 20; ++i) {
      recorder_->record(large_.make(i), std::nullopt, wait);
      ++recorded;
    }
  });
  EXPECT_TRUE(test::eventually([&] { return recorded == static_cast<int>(Recorder::most_waiting_frames); }));
  std::thread reading([&] {
    std::vector<std::byte> bytes(1 << 16);
    std::uint64_t left = 20 * large_.layout().size_bytes;
    while (left > 0) {
      const ssize_t got = ::read(reader_.get(), bytes.data(), std::min<std::uint64_t>(bytes.size(), left));
      left -= got > 0 ? static_cast<std::uint64_t>(got) : 0;
    }
  });
  receiving.join();
  recorder_->finish();
  reading.join();
  EXPECT_EQ(statistics_.counts().frames_recorded, 20U);
  EXPECT_EQ(statistics_.counts().frames_unrecorded, 0U);
}

TEST_F(SlowReader, IsNotWaitedForOnceTheStreamEnds) {
  std::thread receiving([&] {
    for (std::uint64_t i = 0; i < 10; ++i) {
      recorder_->record(large_.make(i), std::nullopt, wait);
    }
  });
  recorder_->stop_waiting();
  receiving.join();
  recorder_->finish();  // after last_frames_timeout_ns
  EXPECT_EQ(statistics_.counts().frames_recorded, 0U);
  EXPECT_EQ(statistics_.counts().frames_unrecorded, 10U);
}

}  // namespace
}  // namespace framewire
