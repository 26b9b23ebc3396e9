#include "viewer/render_sets.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "transport/render_requests.hpp"

namespace framewire {
namespace {

using Tags = std::vector<std::uint64_t>;

constexpr std::int64_t period_ns = ns_per_s / 60;

std::optional<std::uint64_t> common(const std::vector<Tags>& sources) {
  const std::vector<std::span<const std::uint64_t>> spans(sources.begin(), sources.end());
  return newest_common_tag(spans, [](std::uint64_t) { return true; });
}

TEST(NewestCommonTag, IsThatOfTheNewestFrameWhichAllHave) {
  EXPECT_EQ(common({}), std::nullopt);
  EXPECT_EQ(common({{5, 6}}), 6U);
  EXPECT_EQ(common({{5, 6}, {4, 5}}), 5U);
  EXPECT_EQ(common({{5, 6}, {6, 7}, {5, 6}}), 6U);
  EXPECT_EQ(common({{5, 6}, {7, 8}}), std::nullopt);
  EXPECT_EQ(common({{5, 6}, {}}), std::nullopt);
}

TEST(NewestCommonTag, IsNotThatOfFramesNobodyAskedFor) {
  EXPECT_EQ(common({{0}, {0}}), std::nullopt);
  EXPECT_EQ(common({{3, 0}, {0, 3}}), 3U);
}

TEST(NewestCommonTag, FollowsTheOrderOfArrivalNotOfNumbers) {
  EXPECT_EQ(common({{900, 2}, {900, 2}}), 2U) << "another viewer's camera";
}

TEST(NewestCommonTag, IsOneThatIsUsable) {
  const std::array<std::uint64_t, 2> tags{5, 6};
  const std::array<std::span<const std::uint64_t>, 2> spans{tags, tags};
  EXPECT_EQ(newest_common_tag(spans, [](std::uint64_t tag) { return tag != 6; }), 5U);
  EXPECT_EQ(newest_common_tag(spans, [](std::uint64_t) { return false; }), std::nullopt);
}

TEST(RenderSets, AskForTwoFramesAtMost) {
  RenderSets sets(1);
  const auto first = sets.next({}, 10, period_ns, 1000);
  ASSERT_TRUE(first);
  EXPECT_NE(first->id, 0U);
  EXPECT_EQ(first->time_ns, 10);
  EXPECT_EQ(sets.due_ns(), 1000 + period_ns);
  EXPECT_FALSE(sets.next({}, 20, period_ns, 1000 + period_ns - 1)) << "one in each period";
  const auto second = sets.next({}, 20, period_ns, 1000 + period_ns);
  ASSERT_TRUE(second);
  EXPECT_NE(second->id, first->id);
  EXPECT_EQ(sets.due_ns(), INT64_MAX);
  EXPECT_FALSE(sets.next({}, 30, period_ns, 1000 + 10 * period_ns));
  EXPECT_EQ(sets.find(second->id), second);
  sets.shown(first->id, 1000);
  EXPECT_FALSE(sets.find(first->id));
  EXPECT_TRUE(sets.next({}, 30, period_ns, 1000 + 10 * period_ns));
  EXPECT_EQ(sets.sets_shown(), 1U);
  EXPECT_EQ(sets.sets_missed(), 0U);
}

TEST(RenderSets, CountWhatANewerOneOvertakes) {
  RenderSets sets(1);
  const auto first = sets.next({}, 0, period_ns, 0);
  const auto second = sets.next({}, 0, period_ns, period_ns);
  sets.shown(second->id, period_ns);
  EXPECT_EQ(sets.sets_shown(), 1U);
  EXPECT_EQ(sets.sets_missed(), 1U);
  EXPECT_FALSE(sets.find(first->id));
  sets.shown(77, period_ns);
  EXPECT_EQ(sets.sets_shown(), 2U) << "of another viewer's camera";
  EXPECT_EQ(sets.sets_missed(), 1U);
}

TEST(RenderSets, GiveUpWhatDoesNotBecomeComplete) {
  RenderSets sets(1);
  const auto first = sets.next({}, 0, period_ns, 0);
  const auto second = sets.next({}, 0, period_ns, period_ns);
  EXPECT_EQ(sets.outstanding(), 2U);
  EXPECT_EQ(sets.outstanding(1), second);
  EXPECT_EQ(sets.give_up_ns(), RenderSets::usual_wait_ns);
  EXPECT_FALSE(sets.give_up(RenderSets::usual_wait_ns - 1));
  EXPECT_EQ(sets.give_up(RenderSets::usual_wait_ns), first->id);
  EXPECT_FALSE(sets.give_up(RenderSets::usual_wait_ns + period_ns)) << "the next is given more time";
  EXPECT_EQ(sets.give_up(2 * RenderSets::usual_wait_ns + period_ns), second->id);
  EXPECT_EQ(sets.give_up_ns(), INT64_MAX);
  EXPECT_EQ(sets.sets_missed(), 2U);
  EXPECT_LE(sets.due_ns(), RenderSets::usual_wait_ns);
}

/// Sources that need `frame_ns` for each frame, one after the other.
int sets_of_slow_sources(std::int64_t frame_ns) {
  RenderSets sets(1);
  std::vector<std::uint64_t> waiting;
  std::int64_t free_ns = 0;
  std::uint64_t rendering = 0;
  int complete = 0;
  for (std::int64_t now_ns = 0; now_ns < 100 * ns_per_s; now_ns += 10 * ns_per_ms) {
    if (rendering != 0 && now_ns >= free_ns) {
      if (sets.find(rendering)) {
        sets.shown(rendering, now_ns);
        ++complete;
      }
      rendering = 0;
    }
    while (const auto id = sets.give_up(now_ns)) {
      std::erase(waiting, *id);
    }
    if (const auto request = sets.next({}, 0, period_ns, now_ns)) {
      waiting.push_back(request->id);
    }
    if (rendering == 0 && !waiting.empty()) {
      rendering = waiting.front();
      waiting.erase(waiting.begin());
      free_ns = now_ns + frame_ns;
    }
  }
  return complete;
}

TEST(RenderSets, WaitForSlowSources) {
  EXPECT_GE(sets_of_slow_sources(900 * ns_per_ms), 100);
  EXPECT_GE(sets_of_slow_sources(1500 * ns_per_ms), 50);
  EXPECT_GE(sets_of_slow_sources(3 * ns_per_s), 25);
}

TEST(RenderSets, WaitForASourceThatIsKnownToBeSlow) {
  RenderSets sets(1);
  static_cast<void>(sets.next({}, 0, period_ns, 0));
  sets.expect(10 * ns_per_ms);
  EXPECT_EQ(sets.give_up_ns(), RenderSets::usual_wait_ns);
  sets.expect(3 * ns_per_s);
  EXPECT_EQ(sets.give_up_ns(), 6 * ns_per_s);
  sets.expect(100 * ns_per_s);
  EXPECT_EQ(sets.give_up_ns(), RenderSets::longest_wait_ns);
}

TEST(RenderSets, AreNotWaitedForLongAfterQuickOnes) {
  RenderSets sets(1);
  for (int i = 0; i < 4; ++i) {
    static_cast<void>(sets.next({}, 0, period_ns, sets.due_ns()));
    static_cast<void>(sets.give_up(sets.give_up_ns()));
  }
  const std::int64_t now_ns = 100 * ns_per_s;
  const auto request = sets.next({}, 0, period_ns, now_ns);
  EXPECT_EQ(sets.give_up_ns(), now_ns + RenderSets::longest_wait_ns);
  sets.shown(request->id, now_ns + period_ns);
  static_cast<void>(sets.next({}, 0, period_ns, now_ns + period_ns));
  EXPECT_EQ(sets.give_up_ns(), now_ns + period_ns + RenderSets::usual_wait_ns);
}

TEST(RenderSets, TryAgainAWhileAfterARefusal) {
  RenderSets sets(1);
  const auto first = sets.next({}, 0, period_ns, 0);
  EXPECT_FALSE(sets.refused(first->id + 1, 1000)) << "nobody has asked for it";
  EXPECT_FALSE(sets.refused(first->id ^ 1ULL << 40U, 1000)) << "another viewer has";
  EXPECT_TRUE(sets.refused(first->id, 1000));
  EXPECT_FALSE(sets.find(first->id));
  EXPECT_GE(sets.due_ns(), 1000 + 500 * ns_per_ms);
  EXPECT_LE(sets.due_ns(), 1000 + 1500 * ns_per_ms);
  EXPECT_EQ(sets.sets_missed(), 0U);
  const std::int64_t due_ns = sets.due_ns();
  EXPECT_FALSE(sets.refused(first->id, 1000)) << "by another source, too";
  EXPECT_EQ(sets.due_ns(), due_ns);
  sets.begin_again(2000);
  EXPECT_EQ(sets.due_ns(), due_ns) << "the pause goes on";
}

/// The others delivered it before: the picture without that source must not stay for ever.
TEST(RenderSets, ARefusalOfAFrameThatWasShownCounts) {
  RenderSets sets(1);
  const auto first = sets.next({}, 0, period_ns, 0);
  sets.shown(first->id, 10);
  EXPECT_TRUE(sets.refused(first->id, 20));
}

/// Two viewers that each have one of two sources: in virtual time, with a way of 5 ms, one gets both in the end.
TEST(RenderSets, OfTwoViewersOneGetsAllSources) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::array<RenderRequests, 2> sources;
    std::array<RenderSets, 2> viewers{RenderSets(2 * seed), RenderSets(2 * seed + 1)};
    sources[0].offer();
    sources[1].offer();
    constexpr std::int64_t way_ns = 5 * ns_per_ms;
    std::multimap<std::int64_t, std::array<std::uint64_t, 2>> refusals;  // when they arrive: at whom, id
    std::array<int, 2> sets_in_a_row{};
    // Each viewer is nearer to the source of its own number: what it asks of the other one comes later.
    std::multimap<std::int64_t, std::array<std::uint64_t, 3>> asks;  // when: viewer, source, id
    std::array<std::array<std::uint64_t, 2>, 2> accepted{};          // the newest id of each viewer at each source
    for (std::int64_t now_ns = 0; now_ns < 30 * ns_per_s && std::max(sets_in_a_row[0], sets_in_a_row[1]) < 20;
         now_ns += ns_per_ms) {
      while (!refusals.empty() && refusals.begin()->first <= now_ns) {
        const auto [viewer, id] = refusals.begin()->second;
        refusals.erase(refusals.begin());
        if (!viewers.at(viewer).refused(id, now_ns)) {
          continue;
        }
        sources[0].forget(&viewers.at(viewer));
        sources[1].forget(&viewers.at(viewer));
        sets_in_a_row.at(viewer) = 0;
      }
      while (!asks.empty() && asks.begin()->first <= now_ns) {
        const auto [viewer, source, id] = asks.begin()->second;
        asks.erase(asks.begin());
        static_cast<void>(sources.at(source).next(0));  // rendered at once
        if (sources.at(source).ask(&viewers.at(viewer), {.id = id}) == std::nullopt) {
          accepted.at(viewer).at(source) = id;
        } else {
          refusals.emplace(now_ns + way_ns, std::array{viewer, id});
        }
      }
      for (std::size_t i = 0; i < viewers.size(); ++i) {
        if (accepted.at(i)[0] != 0 && accepted.at(i)[0] == accepted.at(i)[1] && viewers.at(i).find(accepted.at(i)[0])) {
          viewers.at(i).shown(accepted.at(i)[0], now_ns);
          ++sets_in_a_row.at(i);
        }
        while (viewers.at(i).give_up(now_ns)) {
        }
        if (const auto request = viewers.at(i).next({}, now_ns, period_ns, now_ns)) {
          asks.emplace(now_ns + way_ns, std::array<std::uint64_t, 3>{i, i, request->id});
          asks.emplace(now_ns + 2 * way_ns, std::array<std::uint64_t, 3>{i, 1 - i, request->id});
        }
      }
    }
    EXPECT_GE(std::max(sets_in_a_row[0], sets_in_a_row[1]), 20) << "seed " << seed;
  }
}

}  // namespace
}  // namespace framewire
