#include "viewer/picture_recording.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/file_descriptor.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/media/media_files.hpp"
#include "tests/viewer/attached_headless.hpp"

namespace framewire {
namespace {

constexpr Size recorded_size{50, 36};

class PictureRecordingTest : public testing::Test {
 protected:
  void record_to(const std::string& file) {
    file_ = file;
    recorder_.emplace(std::optional(file), clock_, kept_, interruption_, statistics_, [this] { ++ends_; });
    recording_.emplace(*recorder_, Rational{10, 1});
  }

  /// A picture of other pixels each time, and of any alpha. Returns it as a file should have it.
  std::vector<std::byte> draw(Canvas& canvas) {
    const std::size_t row_bytes = std::size_t{canvas.size().width} * 4, rows = canvas.size().height;
    std::vector<std::byte> pixels(row_bytes * rows);
    std::ranges::generate(pixels, [this] { return static_cast<std::byte>(random_()); });
    glPixelStorei(GL_UNPACK_ALIGNMENT, 4);
    glTextureSubImage2D(canvas.texture(), 0, 0, 0, static_cast<GLsizei>(canvas.size().width),
                        static_cast<GLsizei>(rows), GL_RGBA, GL_UNSIGNED_BYTE, pixels.data());
    std::vector<std::byte> upright;
    for (std::size_t row = rows; row-- > 0;) {
      const auto begin = pixels.begin() + static_cast<std::ptrdiff_t>(row * row_bytes);
      upright.insert(upright.end(), begin, begin + static_cast<std::ptrdiff_t>(row_bytes));
    }
    for (std::size_t alpha = 3; alpha < upright.size(); alpha += 4) {
      upright[alpha] = std::byte{255};
    }
    return upright;
  }

  static void fill(const Canvas& canvas, std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
    const std::array<std::uint8_t, 4> colour = {red, green, blue, 255};
    glClearTexImage(canvas.texture(), 0, GL_RGBA, GL_UNSIGNED_BYTE, colour.data());
  }

  void show(const Canvas& canvas, std::int64_t after_ms) {
    recording_->show(canvas, ++version_, {}, begin_ns_ + after_ms * ns_per_ms);
  }

  std::vector<std::byte> finish(std::int64_t after_ms) {
    recording_->finish(begin_ns_ + after_ms * ns_per_ms);
    recorder_->finish();
    return test::read_file(file_);
  }

  AttachedHeadless attached_{recorded_size};
  std::mt19937 random_{4711};
  test::KeptLog kept_;
  Interruption interruption_;
  SystemClock clock_;
  Statistics statistics_;
  std::atomic<int> ends_ = 0;
  test::TemporaryFolder folder_;
  std::string file_;
  std::optional<Recorder> recorder_;
  std::optional<PictureRecording> recording_;
  std::uint64_t version_ = 0;
  const std::int64_t begin_ns_ = 77 * ns_per_s;
};

TEST_F(PictureRecordingTest, WritesTheTopRowFirstAndOpaqueAndExactly) {
  record_to(folder_.file("film.raw"));
  Canvas canvas(recorded_size);
  std::vector<std::byte> wanted;
  for (int i = 0; i < 20; ++i) {
    const auto picture = draw(canvas);
    wanted.insert(wanted.end(), picture.begin(), picture.end());
    show(canvas, i * 100);
    while (recording_->due_ns(0) == ns_per_ms) {  // so that none is left out
      recording_->follow(begin_ns_ + i * 100 * ns_per_ms);
    }
    EXPECT_TRUE(test::eventually([&] { return statistics_.counts().frames_recorded + 1 >= static_cast<unsigned>(i); }));
  }
  EXPECT_EQ(finish(2000), wanted);
  EXPECT_EQ(statistics_.counts().frames_recorded, 20U);
  EXPECT_EQ(statistics_.counts().frames_unrecorded, 0U);
}

TEST_F(PictureRecordingTest, WritesAPictureOnceThatIsShownAgain) {
  record_to(folder_.file("film.raw"));
  Canvas canvas(recorded_size);
  const auto wanted = draw(canvas);
  recording_->show(canvas, 5, {}, begin_ns_);
  recording_->show(canvas, 5, {}, begin_ns_ + ns_per_s);
  recording_->follow(begin_ns_ + 5 * ns_per_s);
  EXPECT_EQ(finish(9000), wanted);
}

/// By ffmpeg's decoder, which knows what the file says of its colours.
TEST_F(PictureRecordingTest, PlaysInRealTime) {
  record_to(folder_.file("film.y4m"));
  Canvas canvas(recorded_size);
  const std::array<std::array<std::uint8_t, 3>, 3> colours = {{{255, 0, 0}, {0, 0, 255}, {10, 200, 30}}};
  const std::array<std::int64_t, 3> shown_ms = {0, 700, 800};
  for (std::size_t i = 0; i < colours.size(); ++i) {
    fill(canvas, colours[i][0], colours[i][1], colours[i][2]);
    recording_->follow(begin_ns_ + shown_ms[i] * ns_per_ms);
    show(canvas, shown_ms[i]);
  }
  finish(1000);
  EXPECT_EQ(statistics_.counts().frames_recorded + statistics_.counts().frames_repeated, 10U);
  EXPECT_EQ(recorder_->frames_missing(), 0U);
  const auto bytes = test::decoded_by_ffmpeg(folder_, file_, "rgb24");
  const std::size_t frame_bytes = std::size_t{recorded_size.width} * recorded_size.height * 3;
  ASSERT_EQ(bytes.size(), 10 * frame_bytes);
  for (std::size_t frame = 0; frame < 10; ++frame) {
    const auto& wanted = colours.at(frame < 7 ? 0 : frame == 7 ? 1 : 2);
    for (std::size_t i = 0; i < frame_bytes; ++i) {
      ASSERT_NEAR(std::to_integer<int>(bytes[frame * frame_bytes + i]), wanted.at(i % 3), 3) << frame << ", " << i;
    }
  }
}

/// As the key does it: the drawing goes on, and the pictures that are still being read back come later.
TEST_F(PictureRecordingTest, EndsWithoutWaiting) {
  record_to(folder_.file("film.raw"));
  EXPECT_FALSE(recording_->is_over(0));
  Canvas canvas(recorded_size);
  const auto first = draw(canvas);
  show(canvas, 0);
  const auto last = draw(canvas);
  show(canvas, 100);
  EXPECT_FALSE(recording_->is_over(begin_ns_ + 100 * ns_per_ms));
  const std::int64_t end_ns = begin_ns_ + 200 * ns_per_ms;
  recording_->end(end_ns);
  EXPECT_TRUE(test::eventually([&] {
    recording_->follow(end_ns);
    return recording_->is_over(end_ns);
  }));
  EXPECT_EQ(recording_->due_ns(end_ns), INT64_MAX);
  auto wanted = first;
  wanted.insert(wanted.end(), last.begin(), last.end());
  EXPECT_EQ(finish(90'000), wanted) << "what was ended stays as it was";
  EXPECT_EQ(statistics_.counts().frames_unrecorded, 0U);
}

TEST_F(PictureRecordingTest, WithoutAPictureIsOverAtItsEnd) {
  record_to(folder_.file("film.y4m"));
  recording_->end(begin_ns_);
  EXPECT_TRUE(recording_->is_over(begin_ns_));
  EXPECT_TRUE(finish(100).empty());
}

TEST_F(PictureRecordingTest, FitsPicturesOfAnotherSizeIntoTheFirst) {
  record_to(folder_.file("film.raw"));
  Canvas first(recorded_size), wide({100, 36});
  fill(first, 1, 2, 3);
  fill(wide, 200, 100, 50);
  show(first, 0);
  show(wide, 100);
  const auto bytes = finish(200);
  const std::size_t row_bytes = std::size_t{recorded_size.width} * 4;
  ASSERT_EQ(bytes.size(), 2 * row_bytes * recorded_size.height);
  for (std::size_t row = 0; row < recorded_size.height; ++row) {
    const bool is_picture = row >= 9 && row < 27;
    const std::array<int, 4> wanted = is_picture ? std::array{200, 100, 50, 255} : std::array{0, 0, 0, 255};
    for (std::size_t i = 0; i < row_bytes; ++i) {
      ASSERT_EQ(std::to_integer<int>(bytes[(recorded_size.height + row) * row_bytes + i]), wanted.at(i % 4)) << row;
    }
  }
}

TEST_F(PictureRecordingTest, IsNotHeldUpByAReaderThatDoesNotRead) {
  const std::string fifo = folder_.file("frames");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  FileDescriptor reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  record_to(fifo);
  Canvas canvas({800, 600});  // more than a pipe holds
  constexpr int count = 40;
  for (int i = 0; i < count; ++i) {
    draw(canvas);
    show(canvas, i * 100);
  }
  recording_->finish(begin_ns_ + count * 100 * ns_per_ms);
  EXPECT_GE(statistics_.counts().frames_unrecorded, count - Recorder::most_waiting_frames);
  reader.reset();  // leaves
  recorder_->finish();
  EXPECT_TRUE(recorder_->reader_has_left());
  EXPECT_EQ(statistics_.counts().frames_recorded + statistics_.counts().frames_unrecorded, std::uint64_t{count});
}

TEST_F(PictureRecordingTest, CountsWhatAFullDiskDoesNotTake) {
  record_to("/dev/full");
  Canvas canvas(recorded_size);
  for (int i = 0; i < 5; ++i) {
    draw(canvas);
    show(canvas, i * 100);
    recording_->follow(begin_ns_ + i * 100 * ns_per_ms);
  }
  recording_->finish(begin_ns_ + ns_per_s);
  recorder_->finish();
  EXPECT_TRUE(recorder_->has_failed());
  EXPECT_EQ(statistics_.counts().frames_unrecorded, 5U);
  EXPECT_EQ(recording_->due_ns(begin_ns_), INT64_MAX);
}

TEST_F(PictureRecordingTest, FailsAloneIfTheGpuCannotHaveIt) {
  record_to(folder_.file("film.raw"));
  recorder_->fail("there is no memory");
  recorder_->fail("there is no memory");
  Canvas canvas(recorded_size);
  show(canvas, 0);
  EXPECT_TRUE(finish(100).empty());
  EXPECT_TRUE(recorder_->has_failed());
  EXPECT_EQ(ends_, 1);
  EXPECT_EQ(statistics_.counts().frames_unrecorded, 1U);
  EXPECT_NE(kept_.text().find("recording has stopped, the stream goes on: there is no memory"), std::string::npos);
}

TEST_F(PictureRecordingTest, NothingIsWrittenWithoutAPicture) {
  record_to(folder_.file("film.y4m"));
  recording_->follow(begin_ns_);
  EXPECT_EQ(recording_->due_ns(begin_ns_), INT64_MAX);
  EXPECT_TRUE(finish(1000).empty());
}

TEST_F(PictureRecordingTest, WhatCanNotBeReadBackInTimeIsCounted) {
  record_to(folder_.file("film.raw"));
  ASSERT_FALSE(recorder_->claim(100).empty());
  recorder_->finish();
  recorder_->complete({}, 0);  // the drawing was blocked meanwhile
  EXPECT_TRUE(recorder_->claim(100).empty());
  EXPECT_EQ(statistics_.counts().frames_unrecorded, 2U);
}

}  // namespace
}  // namespace framewire
