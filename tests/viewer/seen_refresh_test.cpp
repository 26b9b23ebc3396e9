// With which refreshes pictures were seen, and what --frame-times writes of that.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/media/media_files.hpp"
#include "tests/viewer/attached_headless.hpp"
#include "viewer/frame_times_file.hpp"
#include "viewer/refresh_schedule.hpp"
#include "viewer/swap_refreshes.hpp"

namespace framewire {
namespace {

constexpr std::int64_t now_ns = 500 * ns_per_s;

/// After this many swaps.
SwapRefreshes after_swaps(std::uint64_t count) {
  SwapRefreshes swaps;
  for (std::uint64_t i = 1; i <= count; ++i) {
    EXPECT_EQ(swaps.swapped(), i);
  }
  return swaps;
}

TEST(SwapRefreshes, TellWhichPictureWasSeenWhen) {
  SwapRefreshes swaps = after_swaps(3);
  EXPECT_FALSE(swaps.take());
  swaps.completed(1, {.at_ns = now_ns - 20, .number = 70}, now_ns);
  swaps.completed(3, {.at_ns = now_ns - 4, .number = 72}, now_ns);
  const auto first = swaps.take();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->picture, 1U);
  EXPECT_EQ(first->refresh, (SeenRefresh{.at_ns = now_ns - 20, .number = 70}));
  EXPECT_EQ(swaps.take()->picture, 3U) << "nobody has seen the second";
  EXPECT_FALSE(swaps.take());
}

TEST(SwapRefreshes, CountOnWhenTheSerialBeginsAnew) {
  constexpr std::uint64_t beyond_serials = 0x1'0000'0002;
  SwapRefreshes swaps(beyond_serials);
  swaps.completed(UINT32_MAX, {.at_ns = now_ns, .number = 5}, now_ns);
  swaps.completed(2, {.at_ns = now_ns, .number = 8}, now_ns);
  EXPECT_EQ(swaps.take()->picture, 0xffff'ffffU);
  EXPECT_EQ(swaps.take()->picture, beyond_serials);
}

/// Of a driver that numbers its swaps otherwise, of other clients, and of another clock.
TEST(SwapRefreshes, LeaveOutWhatCannotBe) {
  SwapRefreshes swaps = after_swaps(100);
  swaps.completed(101, {.at_ns = now_ns}, now_ns);
  swaps.completed(100 - SwapRefreshes::most_swaps, {.at_ns = now_ns}, now_ns);
  swaps.completed(0, {.at_ns = now_ns}, now_ns);
  swaps.completed(UINT32_MAX, {.at_ns = now_ns}, now_ns);
  for (const std::int64_t at_ns :
       {INT64_MIN, std::int64_t{0}, now_ns - 2 * ns_per_s, now_ns + 2 * ns_per_s, INT64_MAX}) {
    swaps.completed(99, {.at_ns = at_ns}, now_ns);
  }
  EXPECT_FALSE(swaps.take());
  swaps.completed(99, {.at_ns = now_ns, .number = 1}, now_ns);
  swaps.completed(99, {.at_ns = now_ns, .number = 2}, now_ns);
  swaps.completed(98, {.at_ns = now_ns, .number = 3}, now_ns);
  EXPECT_EQ(swaps.take()->refresh.number, 1U);
  EXPECT_FALSE(swaps.take()) << "each picture is seen once, in turn";
  SwapRefreshes none;
  none.completed(0, {.at_ns = now_ns}, now_ns);
  EXPECT_FALSE(none.take()) << "nothing was swapped";
}

TEST(SwapRefreshes, KeepTheNewestIfNobodyTakesThem) {
  SwapRefreshes swaps;
  for (std::uint32_t i = 1; i <= 50; ++i) {
    swaps.swapped();
    swaps.completed(i, {.at_ns = now_ns, .number = i}, now_ns);
  }
  std::uint64_t expected = 50 - SwapRefreshes::most_swaps;
  while (const auto seen = swaps.take()) {
    EXPECT_EQ(seen->picture, ++expected);
  }
  EXPECT_EQ(expected, 50U);
}

TEST(RefreshNumbers, ArePredictedWithTheTimes) {
  RefreshModel model;
  for (std::uint64_t number = 1000; number < 1040; ++number) {
    model.observe(static_cast<std::int64_t>(number) * 10 * ns_per_ms, number);
  }
  const std::int64_t last_ns = 10'390 * ns_per_ms;
  for (const std::int64_t later_ms : {1, 9, 11, 25, 101}) {
    const auto refresh = model.next_after(last_ns + later_ms * ns_per_ms);
    ASSERT_TRUE(refresh);
    EXPECT_EQ(refresh->number, static_cast<std::uint64_t>(1039 + later_ms / 10 + 1)) << later_ms;
    EXPECT_NEAR(static_cast<double>(refresh->next_ns), static_cast<double>(refresh->number) * 10e6, 1e3);
  }
}

TEST(RefreshNumbers, OfAHeadlessSurfaceAreCountedFromItsStart) {
  Headless surface({16, 16}, 200);
  surface.attach();
  std::optional<SeenRefresh> before;
  for (int i = 0; i < 5; ++i) {
    surface.begin();
    const auto presented = surface.present();
    ASSERT_TRUE(presented && presented->refresh);
    EXPECT_EQ(presented->refresh->at_ns, presented->shown_ns);
    if (before) {
      const auto passed = static_cast<double>(presented->refresh->at_ns - before->at_ns) / 5e6;
      EXPECT_NEAR(passed, static_cast<double>(presented->refresh->number - before->number), 0.01);
      EXPECT_GE(passed, 0.99);
    }
    before = presented->refresh;
  }
  surface.detach();
}

TEST(RefreshNumbers, AreNotKnownWithoutRefreshes) {
  AttachedHeadless attached({16, 16});
  attached.surface.begin();
  EXPECT_FALSE(attached.surface.present()->refresh);
  EXPECT_FALSE(attached.surface.take_refresh());
}

class FrameTimesTest : public testing::Test {
 protected:
  void shown(std::size_t stream, std::uint64_t sequence, std::uint64_t picture,
             std::optional<SeenRefresh> refresh = {}) {
    FrameHeader header;
    header.sequence = sequence;
    times_.frame_shown(stream, header, {.shown_ns = 9, .refresh = refresh, .picture = picture}, 0);
  }
  /// What the file has of each frame: "1,5,…,9,70,1234" as "5:70,1234".
  std::string refreshes() {
    EXPECT_EQ(times_.write(), 0U);
    const auto bytes = test::read_file(file_);
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    std::string found;
    for (std::size_t at = text.find('\n') + 1; at < text.size(); at = text.find('\n', at) + 1) {
      const std::string line = text.substr(at, text.find('\n', at) - at);
      EXPECT_EQ(std::ranges::count(line, ','), 12) << line;
      const std::size_t sequence = line.find(',') + 1;
      const std::size_t last = line.rfind(',');
      const std::size_t number = line.rfind(',', last - 1) + 1;
      found += line.substr(sequence, line.find(',', sequence) - sequence) + ":" + line.substr(number) + " ";
    }
    EXPECT_TRUE(text.substr(0, text.find('\n')).ends_with(",shown_ns,refresh,refresh_ns")) << text;
    return found;
  }

  test::TemporaryFolder folder_;
  const std::string file_ = folder_.file("times.csv");
  FrameTimesFile times_{file_};
};

TEST_F(FrameTimesTest, HaveTheRefreshWhereItIsKnownAndNothingElsewhere) {
  shown(0, 5, 1, SeenRefresh{.at_ns = 1234, .number = 70});
  shown(0, 6, 2);
  shown(0, 7, 3, SeenRefresh{.at_ns = 5678, .number = 0});
  EXPECT_EQ(refreshes(), "5:70,1234 6:, 7:0,5678 ");
}

/// Two streams are shown in one picture.
TEST_F(FrameTimesTest, LearnLaterWhenAPictureWasSeen) {
  shown(0, 1, 10);
  shown(0, 2, 11);
  shown(1, 3, 11);
  shown(0, 4, 14);  // pictures without a frame lie between
  times_.picture_seen({.picture = 11, .refresh = {.at_ns = 111, .number = 1}});
  times_.picture_seen({.picture = 12, .refresh = {.at_ns = 112, .number = 2}});
  times_.picture_seen({.picture = 14, .refresh = {.at_ns = 114, .number = 4}});
  times_.picture_seen({.picture = 99, .refresh = {.at_ns = 199, .number = 9}});
  EXPECT_EQ(refreshes(), "1:, 2:1,111 3:1,111 4:4,114 ");
}

TEST_F(FrameTimesTest, OfPicturesWithoutANumberLearnNothing) {
  shown(0, 1, 0);
  times_.picture_seen({.picture = 1, .refresh = {.at_ns = 1, .number = 1}});
  EXPECT_EQ(refreshes(), "1:, ");
}

TEST(FrameTimes, WithoutAFileKeepNothing) {
  FrameTimesFile none("");
  none.frame_shown(0, {}, {.picture = 1}, 0);
  none.picture_seen({.picture = 1});
  EXPECT_EQ(none.write(), 0U);
}

}  // namespace
}  // namespace framewire
