// The messages between the processes of a pipeline.
#include "rdpipe/plan.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "rdpipe/hop_state.hpp"
#include "rdpipe/hop_transfer.hpp"

namespace framewire {
namespace {

using Json = nlohmann::json;

StagePlan some_plan() {
  StagePlan plan{.stage = {.host = "h", .text = "a 'b'\n\xff"}, .number = 2};
  plan.upstream = HopPlan{
      .number = 1, .listens = true, .stays_here = true, .parameters = {.slots = 5, .first_port = 7, .last_port = 9}};
  plan.upstream->key.bytes()[3] = std::byte{0xab};
  return plan;
}

TEST(Plan, ComesBackAsItWasSaid) {
  const StagePlan plan = some_plan();
  const StagePlan back = stage_plan_from(Json::parse(to_json(plan).dump()));
  EXPECT_EQ(back.stage.text, plan.stage.text);
  EXPECT_EQ(back.stage.host, "h");
  EXPECT_EQ(back.number, 2U);
  ASSERT_TRUE(back.upstream);
  EXPECT_FALSE(back.downstream);
  EXPECT_EQ(back.upstream->key, plan.upstream->key);
  EXPECT_TRUE(back.upstream->listens);
  EXPECT_TRUE(back.upstream->stays_here);
  EXPECT_FALSE(back.upstream->sends);
  EXPECT_EQ(back.upstream->parameters.slots, 5U);
  EXPECT_EQ(back.upstream->parameters.last_port, 9);
}

TEST(Plan, EveryFieldIsChecked) {
  const Json good = to_json(some_plan());
  const std::vector<Json> nonsense{Json(), -1, 1e30, "x", true, Json::array(), Json::object()};
  for (const auto& field : good.items()) {
    if (field.key() == "type") {
      continue;
    }
    std::size_t refused = 0;
    for (const Json& value : nonsense) {
      Json bad = good;
      bad[field.key()] = value;
      try {
        stage_plan_from(bad);
      } catch (const Error&) {
        ++refused;
      }
    }
    EXPECT_GE(refused, 4U) << field.key();
  }
  for (const auto& field : good["upstream"].items()) {
    Json bad = good;
    bad["upstream"][field.key()] = Json::array();
    EXPECT_THROW(stage_plan_from(bad), Error) << field.key();
    bad["upstream"].erase(field.key());
    EXPECT_THROW(stage_plan_from(bad), Error) << field.key();
  }
  Json other_version = good;
  other_version["protocol"] = pipeline_protocol + 1;
  EXPECT_THROW(stage_plan_from(other_version), Error);
}

TEST(Plan, ReportsAndTargetsAreChecked) {
  const HopReport report{.number = 3,
                         .sends = true,
                         .result = HopResult::told,
                         .message = "why",
                         .summary = TransferSummary{.bytes = 8, .transport = "tcp"}};
  const HopReport back = hop_report_from(to_json(report));
  EXPECT_EQ(back.result, HopResult::told);
  EXPECT_EQ(back.summary->bytes, 8U);
  EXPECT_THROW(hop_report_from(Json{{"result", 99}}), Error);
  EXPECT_EQ(hop_target_from(to_json(HopTarget{.port = 5, .addresses = {"a", "b"}})).addresses.size(), 2U);
  for (const Json& bad : {Json::object(), Json{{"port", 1}}, Json{{"port", 70000}, {"addresses", {"a"}}},
                          Json{{"port", 1}, {"addresses", {1}}}, Json{{"port", 1}, {"addresses", Json::array()}}}) {
    EXPECT_THROW(hop_target_from(bad), Error) << bad;
  }
}

TEST(Hops, TheHostOfRdpipeDials) {
  const auto ends = [](const std::vector<std::string>& words) {
    std::string text;
    for (const HopState& hop : hops_of(parse_stages(words), {})) {
      text += hop.name + (hop.sender.listens ? " (receiver dials); " : " (sender dials); ");
    }
    return text;
  };
  EXPECT_EQ(ends({"a:x", "b:x"}), "here → a (sender dials); a → b (sender dials); b → here (receiver dials); ");
  EXPECT_EQ(ends({"a:x", ":x", "b:x"}),
            "here → a (sender dials); a → here (receiver dials); here → b (sender dials); b → here (receiver dials); ");
  EXPECT_EQ(ends({"a:<x", "b:>x"}), "a → b (sender dials); ");
  EXPECT_EQ(ends({"here:<x", ":>x"}), "here → here (receiver dials); ") << "a host of that name is another one";
  EXPECT_FALSE(hops_of(parse_stages({"here:<x", ":>x"}), {}).front().sender.stays_here);
  EXPECT_TRUE(hops_of(parse_stages({":<x", ":>x"}), {}).front().sender.stays_here);
  const auto hops = hops_of(parse_stages({"a:x", "a:x"}), {});
  EXPECT_FALSE(hops[0].sender.key == hops[1].sender.key) << "each hop has a key of its own";
  EXPECT_EQ(hops[1].sender.key, hops[1].receiver.key);
}

TEST(Hops, HaveTheNumbersOfTheirStagesIfTheHostsDoNotTellThemApart) {
  const auto names = [](const std::vector<std::string>& words) {
    std::vector<std::string> all;
    for (const HopState& hop : hops_of(parse_stages(words), {})) {
      all.push_back(hop.name);
    }
    return all;
  };
  EXPECT_EQ(names({"a:x", "a:y", "a:z"}),
            (std::vector<std::string>{"here → a (stage 1)", "a (stage 1) → a (stage 2)", "a (stage 2) → a (stage 3)",
                                      "a (stage 3) → here"}));
  EXPECT_EQ(names({":x"}), (std::vector<std::string>{"here → here (stage 1)", "here (stage 1) → here"}));
  EXPECT_EQ(names({"a:x", "b:y"}), (std::vector<std::string>{"here → a", "a → b", "b → here"}));
}

}  // namespace
}  // namespace framewire
