#include "viewer/picture_timeline.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "base/clock.hpp"

namespace framewire {
namespace {

constexpr std::int64_t timeline_start_ns = 1'000 * ns_per_s;
constexpr std::int64_t period_of_25_ns = 40 * ns_per_ms;

/// Writes down which picture each frame of the recording shows.
class WrittenPictures {
 public:
  explicit WrittenPictures(Rational rate, bool repeats = true) : timeline_(rate, repeats, timeline_start_ns) {
    write(timeline_.write_first());
  }

  void show(int picture, std::int64_t after_ns) {
    write(timeline_.replace(timeline_start_ns + after_ns));
    picture_ = picture;
  }
  void pass(std::int64_t after_ns) { write(timeline_.pass(timeline_start_ns + after_ns)); }
  void end(std::int64_t after_ns) { write(timeline_.end(timeline_start_ns + after_ns)); }
  [[nodiscard]] std::int64_t due_ns() const { return timeline_.due_ns() - timeline_start_ns; }

  std::vector<int> frames;
  int writes = 0;

 private:
  void write(PictureTimeline::LastFrame last) {
    if (last) {
      ASSERT_GE(*last, frames.size()) << "the frame was written before";
      frames.resize(*last + 1, picture_);
      ++writes;
    }
  }

  PictureTimeline timeline_;
  int picture_ = 0;
};

TEST(PictureTimeline, GivesEachPictureOfItsRateOneFrame) {
  WrittenPictures written({25, 1});
  for (int i = 1; i < 6; ++i) {
    const std::int64_t jitter_ns = (i % 2 == 0 ? 19 : -19) * ns_per_ms;
    written.show(i, i * period_of_25_ns + jitter_ns);
  }
  written.end(6 * period_of_25_ns);
  EXPECT_EQ(written.frames, (std::vector{0, 1, 2, 3, 4, 5}));
}

TEST(PictureTimeline, RepeatsAPictureThatStands) {
  WrittenPictures written({25, 1});
  written.show(1, 3 * period_of_25_ns);
  written.show(2, 4 * period_of_25_ns);
  written.end(7 * period_of_25_ns);
  EXPECT_EQ(written.frames, (std::vector{0, 0, 0, 1, 2, 2, 2}));
}

TEST(PictureTimeline, WritesTheLastOfThePicturesInOnePeriod) {
  WrittenPictures written({25, 1});
  written.show(1, period_of_25_ns);
  written.show(2, period_of_25_ns + 5 * ns_per_ms);
  written.show(3, period_of_25_ns + 15 * ns_per_ms);
  written.show(4, 2 * period_of_25_ns);
  written.end(2 * period_of_25_ns);
  EXPECT_EQ(written.frames, (std::vector{0, 3, 4})) << "the last picture of all has a frame, too";
}

TEST(PictureTimeline, WritesALongPictureInParts) {
  WrittenPictures written({25, 1});
  for (std::int64_t after_ns = 0; after_ns < 4 * ns_per_s; after_ns += 7 * ns_per_ms) {
    written.pass(after_ns);
  }
  EXPECT_GE(written.writes, 7);
  EXPECT_LE(written.writes, 10);
  written.end(4 * ns_per_s);
  EXPECT_EQ(written.frames, std::vector<int>(100, 0));
}

TEST(PictureTimeline, IsDueWhenAPartOfALongPictureIs) {
  WrittenPictures written({30000, 1001});
  for (int i = 0; i < 20; ++i) {
    const int writes = written.writes;
    written.pass(written.due_ns() - 1000);
    EXPECT_EQ(written.writes, writes);
    written.pass(written.due_ns());
    EXPECT_EQ(written.writes, writes + 1);
  }
}

TEST(PictureTimeline, EndsWithThePictureThatStands) {
  WrittenPictures at_once({25, 1});
  at_once.end(0);
  EXPECT_EQ(at_once.frames, std::vector{0});
  WrittenPictures second({25, 1});
  second.show(1, 0);
  second.end(0);
  EXPECT_EQ(second.frames, (std::vector{0, 1}));
}

TEST(PictureTimeline, WithoutRepeatsWritesEachPictureOnce) {
  WrittenPictures written({25, 1}, false);
  written.pass(10 * ns_per_s);
  EXPECT_EQ(written.writes, 1);
  EXPECT_EQ(written.due_ns(), INT64_MAX - timeline_start_ns);
  written.show(1, 20 * ns_per_s);
  written.show(2, 30 * ns_per_s);
  written.end(40 * ns_per_s);
  written.end(50 * ns_per_s);
  EXPECT_EQ(written.writes, 3);
}

/// Each frame shows the newest picture that came before the end of its period, and no frame is missing.
TEST(PictureTimeline, FollowsPicturesAtAnyTime) {
  std::mt19937 random(7);
  for (const Rational rate : std::array{Rational{60, 1}, Rational{30000, 1001}, Rational{12500, 1000}}) {
    WrittenPictures written(rate);
    const double period_ns = 1e9 * rate.denominator / rate.numerator;
    std::vector<int> wanted(1, 0);
    int newest = 0;
    std::int64_t now_ns = 0;
    for (int picture = 1; picture < 2000; ++picture) {
      now_ns += std::uniform_int_distribution<std::int64_t>(0, 60 * ns_per_ms)(random);
      if (picture % 3 == 0) {
        written.pass(now_ns);
      }
      written.show(picture, now_ns);
      const auto frame = static_cast<std::size_t>(std::llround(static_cast<double>(now_ns) / period_ns));
      if (frame >= wanted.size()) {
        wanted.resize(frame, newest);
        wanted.push_back(picture);
      } else if (frame > 0) {  // frame 0 was written at once
        wanted.back() = picture;
      }
      newest = picture;
    }
    written.end(now_ns);
    EXPECT_EQ(written.frames, wanted);
  }
}

TEST(RecordingRate, IsThatOfTheFastestStream) {
  const std::array streams = {Rational{25, 1}, Rational{30000, 1001}, Rational{0, 1}, Rational{0, 0}};
  EXPECT_EQ(recording_rate(streams, 0), (Rational{30000, 1001}));
  EXPECT_EQ(recording_rate(streams, 16'666'667), (Rational{30000, 1001}));
}

TEST(RecordingRate, IsNotFasterThanTheScreen) {
  const std::array streams = {Rational{240, 1}};
  EXPECT_EQ(recording_rate(streams, 16'666'667), (Rational{60, 1}));
  EXPECT_EQ(recording_rate(streams, 16'683'350), (Rational{60000, 1001}));
}

TEST(RecordingRate, IsNoneThatOnlyANumberCanBe) {
  const std::array streams = {Rational{25, 1}, Rational{UINT32_MAX, 1}, Rational{UINT32_MAX, 0}};
  EXPECT_EQ(recording_rate(streams, 0), (Rational{1000, 1}));
  EXPECT_EQ(recording_rate(std::array{Rational{1000, 1}}, 0), (Rational{1000, 1}));
}

TEST(RecordingRate, IsTheScreensIfNoStreamHasOne) {
  EXPECT_EQ(recording_rate(std::array{Rational{0, 1}}, 20 * ns_per_ms), (Rational{50, 1}));
  EXPECT_EQ(recording_rate({}, 0), (Rational{60, 1}));
}

}  // namespace
}  // namespace framewire
