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
  return newest_common_tag(spans);
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
  sets.shown(first->id);
  EXPECT_FALSE(sets.find(first->id));
  EXPECT_TRUE(sets.next({}, 30, period_ns, 1000 + 10 * period_ns));
  EXPECT_EQ(sets.sets_shown(), 1U);
  EXPECT_EQ(sets.sets_missed(), 0U);
}

TEST(RenderSets, CountWhatANewerOneOvertakes) {
  RenderSets sets(1);
  const auto first = sets.next({}, 0, period_ns, 0);
  const auto second = sets.next({}, 0, period_ns, period_ns);
  sets.shown(second->id);
  EXPECT_EQ(sets.sets_shown(), 1U);
  EXPECT_EQ(sets.sets_missed(), 1U);
  EXPECT_FALSE(sets.find(first->id));
  sets.shown(77);
  EXPECT_EQ(sets.sets_shown(), 2U) << "of another viewer's camera";
  EXPECT_EQ(sets.sets_missed(), 1U);
}

TEST(RenderSets, GiveUpWhatDoesNotBecomeComplete) {
  RenderSets sets(1);
  const auto first = sets.next({}, 0, period_ns, 0);
  const auto second = sets.next({}, 0, period_ns, period_ns);
  EXPECT_EQ(sets.give_up_ns(), RenderSets::longest_wait_ns);
  EXPECT_FALSE(sets.give_up(RenderSets::longest_wait_ns - 1));
  EXPECT_EQ(sets.give_up(RenderSets::longest_wait_ns), first->id);
  EXPECT_FALSE(sets.give_up(RenderSets::longest_wait_ns));
  EXPECT_EQ(sets.give_up(RenderSets::longest_wait_ns + period_ns), second->id);
  EXPECT_EQ(sets.give_up_ns(), INT64_MAX);
  EXPECT_EQ(sets.sets_missed(), 2U);
  EXPECT_LE(sets.due_ns(), RenderSets::longest_wait_ns);
}

TEST(RenderSets, WithdrawWhatIsNotWantedAnyMore) {
  RenderSets sets(1);
  const auto first = sets.next({}, 0, period_ns, 0);
  const auto second = sets.next({}, 0, period_ns, period_ns);
  EXPECT_EQ(sets.withdraw(), first->id);
  EXPECT_EQ(sets.withdraw(), second->id);
  EXPECT_FALSE(sets.withdraw());
  EXPECT_FALSE(sets.find(second->id));
  EXPECT_EQ(sets.give_up_ns(), INT64_MAX);
  EXPECT_EQ(sets.sets_missed(), 0U);
}

TEST(RenderSets, TryAgainAWhileAfterARefusal) {
  RenderSets sets(1);
  const auto first = sets.next({}, 0, period_ns, 0);
  sets.refused(1000);
  EXPECT_FALSE(sets.find(first->id));
  EXPECT_GE(sets.due_ns(), 1000 + 500 * ns_per_ms);
  EXPECT_LE(sets.due_ns(), 1000 + 1500 * ns_per_ms);
  EXPECT_EQ(sets.sets_missed(), 0U);
  sets.begin_again(2000);
  EXPECT_EQ(sets.due_ns(), 2000);
}

/// Two viewers that each have one of two sources: in virtual time, with a way of 5 ms, one gets both in the end.
TEST(RenderSets, OfTwoViewersOneGetsAllSources) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::array<RenderRequests, 2> sources;
    std::array<RenderSets, 2> viewers{RenderSets(2 * seed), RenderSets(2 * seed + 1)};
    sources[0].offer();
    sources[1].offer();
    constexpr std::int64_t way_ns = 5 * ns_per_ms;
    std::multimap<std::int64_t, std::size_t> refusals;  // when they arrive, and at whom
    std::array<int, 2> sets_in_a_row{};
    // Each viewer is nearer to the source of its own number: what it asks of the other one comes later.
    std::multimap<std::int64_t, std::array<std::uint64_t, 3>> asks;  // when: viewer, source, id
    std::array<std::array<std::uint64_t, 2>, 2> accepted{};          // the newest id of each viewer at each source
    for (std::int64_t now_ns = 0; now_ns < 30 * ns_per_s && std::max(sets_in_a_row[0], sets_in_a_row[1]) < 20;
         now_ns += ns_per_ms) {
      while (!refusals.empty() && refusals.begin()->first <= now_ns) {
        const std::size_t viewer = refusals.begin()->second;
        refusals.erase(refusals.begin());
        viewers.at(viewer).refused(now_ns);
        sources[0].forget(&viewers.at(viewer));
        sources[1].forget(&viewers.at(viewer));
        sets_in_a_row.at(viewer) = 0;
      }
      while (!asks.empty() && asks.begin()->first <= now_ns) {
        const auto [viewer, source, id] = asks.begin()->second;
        asks.erase(asks.begin());
        static_cast<void>(sources.at(source).next(0));  // rendered at once
        if (sources.at(source).ask(&viewers.at(viewer), {.id = id}).empty()) {
          accepted.at(viewer).at(source) = id;
        } else {
          refusals.emplace(now_ns + way_ns, viewer);
        }
      }
      for (std::size_t i = 0; i < viewers.size(); ++i) {
        if (accepted.at(i)[0] != 0 && accepted.at(i)[0] == accepted.at(i)[1] && viewers.at(i).find(accepted.at(i)[0])) {
          viewers.at(i).shown(accepted.at(i)[0]);
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
