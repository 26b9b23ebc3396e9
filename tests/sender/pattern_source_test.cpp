#include "sender/sources/media/pattern_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "frame/test_pattern.hpp"
#include "tests/base/eventually.hpp"
#include "tests/sender/media_viewer.hpp"

namespace framewire {
namespace {

using namespace test;

SourceOptions options_for(const std::string& name, PixelFormat format, std::uint32_t width, std::uint32_t height) {
  return {.name = name,
          .width = width,
          .height = height,
          .frames_per_s = 0,
          .pixel_format = format,
          .loop = false,
          .realtime = false};
}

StreamOptions limited_to(std::uint64_t frames) {
  StreamOptions options;
  options.max_frames = frames;
  options.first_sequence = (std::uint64_t{1} << 32) - 2;  // the sequence passes 2^32
  return options;
}

class PatternOfFormat : public ::testing::TestWithParam<PixelFormat> {};

TEST_P(PatternOfFormat, EveryFrameCarriesItsStamps) {
  for (const char* name : {"pattern", "pattern:bars", "pattern:stamped"}) {
    PatternSource source(options_for(name, GetParam(), 161, 91));
    const Shown shown = show(source, limited_to(6));
    ASSERT_EQ(shown.frames.size(), 6U) << shown.error;
    for (const SeenFrame& frame : shown.frames) {
      EXPECT_TRUE(frame.header.has_test_pattern);
      EXPECT_EQ(frame.header.layout, packed_layout(GetParam(), 161, 91));
      EXPECT_EQ(find_torn_byte(frame.payload, frame.header.sequence, frame.header.user_tag), std::nullopt) << name;
    }
    EXPECT_EQ(shown.frames.back().header.sequence, (std::uint64_t{1} << 32) + 3);
  }
}

TEST_P(PatternOfFormat, SlicesMakeUpTheSamePicture) {
  for (const char* name : {"pattern:bars", "pattern:stamped"}) {
    SourceOptions options = options_for(name, GetParam(), 161, 181);
    options.slices = 1;
    PatternSource whole(options);
    options.slices = 7;
    PatternSource in_slices(options);
    const Shown expected = show(whole, limited_to(3));
    const Shown shown = show(in_slices, limited_to(3));
    ASSERT_EQ(shown.frames.size(), 3U);
    EXPECT_EQ(expected.slices, 3U);
    EXPECT_EQ(shown.slices, std::size_t{3} * possible_slices(packed_layout(GetParam(), 161, 181).size_bytes, 7));
    EXPECT_GT(shown.slices, 6U);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(shown.frames.at(i).payload, expected.frames.at(i).payload) << name << ", frame " << i;
    }
  }
}

TEST_P(PatternOfFormat, TheBarsMove) {
  PatternSource source(options_for("pattern", GetParam(), 160, 90));
  const Shown shown = show(source, limited_to(2));
  ASSERT_EQ(shown.frames.size(), 2U);
  const auto& first = shown.frames.at(0).payload;
  const auto& second = shown.frames.at(1).payload;
  std::size_t changed = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    changed += first.at(i) != second.at(i) ? 1U : 0U;
  }
  EXPECT_GT(changed, first.size() / 20);
}

INSTANTIATE_TEST_SUITE_P(Formats, PatternOfFormat, ::testing::ValuesIn([] {
                           std::vector<PixelFormat> formats;
                           for (const PixelFormatInfo& entry : pixel_formats()) {
                             formats.push_back(entry.format);
                           }
                           return formats;
                         }()),
                         [](const auto& test) { return std::string(framewire::info(test.param).name); });

/// Tests the tear check: it must find every byte that comes from another frame, wherever the tear is.
TEST(Pattern, TornFramesAreFound) {
  for (const char* name : {"pattern:bars", "pattern:stamped"}) {
    PatternSource source(options_for(name, PixelFormat::rgba, 128, 96));
    const Shown shown = show(source, limited_to(2));
    ASSERT_EQ(shown.frames.size(), 2U);
    const SeenFrame& newer = shown.frames.at(1);
    const bool is_stamped_whole = newer.header.user_tag == test_lines_tag;
    const std::size_t unit_bytes = is_stamped_whole ? test_line_bytes : test_mark_bytes;
    for (std::size_t torn_at = unit_bytes; torn_at < newer.payload.size(); torn_at += unit_bytes) {
      std::vector<std::byte> torn = shown.frames.at(0).payload;  // the end still belongs to the older frame
      std::copy_n(newer.payload.begin(), torn_at, torn.begin());
      EXPECT_EQ(find_torn_byte(torn, newer.header.sequence, newer.header.user_tag), torn_at);
      std::vector<std::byte> zeroed = newer.payload;  // the end was never written
      std::fill(zeroed.begin() + static_cast<std::ptrdiff_t>(torn_at), zeroed.end(), std::byte{0});
      EXPECT_EQ(find_torn_byte(zeroed, newer.header.sequence, newer.header.user_tag), torn_at);
    }
    EXPECT_EQ(find_torn_byte(newer.payload, newer.header.sequence + 1, newer.header.user_tag), 0U);
    EXPECT_EQ(find_torn_byte(newer.payload, newer.header.sequence, 77), 0U);
  }
}

TEST(Pattern, TheBarsHaveTheRightColours) {
  PatternSource rgba(options_for("pattern", PixelFormat::rgba, 160, 90));
  const Shown as_rgba = show(rgba, limited_to(1));
  const auto& pixels = as_rgba.frames.at(0).payload;
  const auto pixel = [&](std::size_t x, std::size_t y, std::size_t c) {
    return std::to_integer<int>(pixels.at((y * 160 + x) * 4 + c));
  };
  EXPECT_EQ(pixel(30, 30, 0), 191);  // yellow, 75 %
  EXPECT_EQ(pixel(30, 30, 1), 191);
  EXPECT_EQ(pixel(30, 30, 2), 0);
  EXPECT_EQ(pixel(30, 30, 3), 255);
  PatternSource yuv(options_for("pattern", PixelFormat::yuv444p, 160, 90));
  const Shown as_yuv = show(yuv, limited_to(1));
  const auto& planes = as_yuv.frames.at(0).payload;
  const auto sample = [&](std::size_t plane) { return std::to_integer<int>(planes.at((plane * 90 + 30) * 160 + 30)); };
  EXPECT_EQ(sample(0), 168);  // 75 % yellow of BT.709, as ITU-R BT.1729 and SMPTE RP 219 have it
  EXPECT_EQ(sample(1), 44);
  EXPECT_EQ(sample(2), 136);
  EXPECT_EQ(as_yuv.frames.at(0).header.colour.matrix, ColourMatrix::bt709);
  EXPECT_EQ(as_yuv.frames.at(0).header.colour.range, ColourRange::limited);
}

TEST(Pattern, IsWhatItSaysByDefault) {
  SourceOptions options;
  options.name = "pattern";
  EXPECT_EQ(PatternSource(options).describe(), "pattern, 3840x2160 rgba 60 fps");
}

TEST(Pattern, TimesFollowTheRate) {
  SourceOptions options = options_for("pattern", PixelFormat::gray8, 16, 16);
  options.frames_per_s = 50;
  PatternSource source(options);
  const Shown shown = show(source, limited_to(4));
  ASSERT_EQ(shown.frames.size(), 4U);
  EXPECT_EQ(shown.frames.at(3).header.pts_ns, 60 * ns_per_ms);
}

TEST(Pattern, InRealTimeNoFrameIsEarly) {
  SourceOptions options = options_for("pattern", PixelFormat::gray8, 16, 16);
  options.frames_per_s = 100;
  options.realtime = true;
  PatternSource source(options);
  const std::int64_t start_ns = monotonic_ns();
  const Shown shown = show(source, limited_to(6));
  ASSERT_EQ(shown.frames.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_GE(shown.frames.at(i).header.times.completed_ns - start_ns, static_cast<std::int64_t>(i) * 10 * ns_per_ms);
  }
}

/// A source of 100 frames per second, whose frames a viewer takes until stop().
class PatternAtACadence : public testing::Test {
 protected:
  PatternAtACadence() : stream_(at_every()), source_(in_real_time()) {
    thread_ = std::thread([this] {
      source_.run(stream_);
      stream_.finish();
    });
  }
  ~PatternAtACadence() override { stop(); }

  void watch() { viewer_.emplace(stream_, false); }
  void ask(const CadenceRequest& request) {
    EXPECT_TRUE(eventually([&] { return stream_.cadence().ask(this, request, monotonic_ns()).empty(); }))
        << "it offers none";
  }
  void await_frames(std::uint64_t more) {
    const std::uint64_t enough = stream_.frames_produced() + more;
    EXPECT_TRUE(eventually([&] { return stream_.frames_produced() >= enough; }));
  }
  /// Returns the presentation times of all frames.
  std::vector<std::int64_t> stop() {
    stream_.stop();
    if (thread_.joinable()) {
      thread_.join();
    }
    std::vector<std::int64_t> times_ns;
    if (viewer_) {
      viewer_->wait();
      for (const SeenFrame& frame : viewer_->frames()) {
        times_ns.push_back(frame.header.pts_ns);
      }
    }
    return times_ns;
  }

 private:
  static StreamOptions at_every() {
    StreamOptions options;
    options.delivery = Delivery::every;
    return options;
  }
  static SourceOptions in_real_time() {
    SourceOptions options = options_for("pattern", PixelFormat::gray8, 16, 16);
    options.frames_per_s = 100;
    options.realtime = true;
    return options;
  }

  Stream stream_;
  PatternSource source_;
  std::optional<TestViewer> viewer_;
  std::thread thread_;
};

TEST_F(PatternAtACadence, AShiftDoesNotMovePresentationTimes) {
  ask({.period_ns = 10'100'000, .shift_ns = 3 * ns_per_ms});
  watch();
  await_frames(5);
  const std::vector<std::int64_t> times_ns = stop();
  ASSERT_GE(times_ns.size(), 5U);
  for (std::size_t i = 0; i < times_ns.size(); ++i) {
    EXPECT_EQ(times_ns.at(i), static_cast<std::int64_t>(i) * 10'100'000);
  }
}

TEST_F(PatternAtACadence, TimesGoOnEvenlyWhenThePeriodChanges) {
  watch();
  await_frames(5);
  ask({.period_ns = 10'100'000, .shift_ns = -10 * ns_per_ms});
  await_frames(5);
  const std::vector<std::int64_t> times_ns = stop();
  ASSERT_GE(times_ns.size(), 10U);
  std::int64_t period_ns = 10 * ns_per_ms;
  for (std::size_t i = 1; i < times_ns.size(); ++i) {
    const std::int64_t step_ns = times_ns.at(i) - times_ns.at(i - 1);
    period_ns = std::max(step_ns, period_ns);
    EXPECT_EQ(step_ns, period_ns) << "frame " << i;
  }
  EXPECT_EQ(period_ns, 10'100'000);
}

TEST(Pattern, UnknownKindsAreRefused) {
  try {
    const PatternSource source(options_for("pattern:tartan", PixelFormat::rgba, 16, 16));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "there is no source 'pattern:tartan'; the patterns are pattern:bars and pattern:stamped");
    EXPECT_EQ(error.status(), ExitStatus::usage);
  }
  EXPECT_THROW(PatternSource(options_for("pattern", PixelFormat::bytes, 16, 16)), Error);
}

}  // namespace
}  // namespace framewire
