// What a viewer tells the sender that it starts by ssh.
#include "ssh/sender_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace framewire {
namespace {

TEST(SenderPlan, ComesBackAsItWasSaid) {
  SenderPlan plan{.words = {"--fps=30", "--", "-a b\xff'.mkv", ""}};
  plan.key.bytes()[0] = std::byte{7};
  const SenderPlan again = sender_plan_from(nlohmann::json::parse(to_json(plan).dump()));
  EXPECT_EQ(again.words, plan.words);
  EXPECT_TRUE(std::ranges::equal(again.key.bytes(), plan.key.bytes()));
}

TEST(SenderPlan, EveryFieldIsChecked) {
  const nlohmann::json good = to_json(SenderPlan{.words = {"a"}});
  EXPECT_EQ(sender_plan_from(good).words.size(), 1U);
  for (const auto& [field, bad] : std::vector<std::pair<const char*, nlohmann::json>>{{"type", "hello"},
                                                                                      {"type", 1},
                                                                                      {"protocol", 1},
                                                                                      {"protocol", "1"},
                                                                                      {"key", ""},
                                                                                      {"key", std::string(64, 'x')},
                                                                                      {"words", {"6"}},
                                                                                      {"words", {"zz"}},
                                                                                      {"words", {"6100"}}}) {
    nlohmann::json wrong = good;
    wrong[field] = bad;
    EXPECT_THROW(sender_plan_from(wrong), Error) << field << bad;
  }
}

}  // namespace
}  // namespace framewire
