// The messages between the processes of a pipeline.
#include "rdpipe/plan.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "rdpipe/address_selection.hpp"
#include "rdpipe/hop_state.hpp"
#include "rdpipe/hop_transfer.hpp"
#include "rdpipe/json_lines.hpp"
#include "rdpipe/networks.hpp"

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

using Texts = std::vector<std::string>;

TEST(Addresses, TheBestComesFirst) {
  const HostAddresses listener{
      .machine = "m1", .reached_at = "10.0.0.2", .addresses = {"10.0.0.2", "192.168.7.2", "2001:db8::2"}};
  const HostAddresses dialler{.machine = "m2", .reached_at = "10.0.0.3"};
  EXPECT_EQ(addresses_of(listener, dialler, {.name = "big"}), (Texts{"10.0.0.2", "big", "192.168.7.2", "2001:db8::2"}));
  EXPECT_EQ(addresses_of(listener, dialler, {.name = "big", .is_known_here = true}),
            (Texts{"big", "10.0.0.2", "192.168.7.2", "2001:db8::2"}));
  EXPECT_EQ(addresses_of(listener, dialler, {.name = "big", .is_known_here = true, .data_address = "1.2.3.4"}),
            (Texts{"1.2.3.4"}));
  EXPECT_EQ(addresses_of(listener, listener, {.name = "big"}).front(), "127.0.0.1");
  HostAddresses tunnelled = listener;
  tunnelled.reached_at = "127.0.0.1";
  EXPECT_EQ(addresses_of(tunnelled, dialler, {.name = "localhost", .is_known_here = true}),
            (Texts{"10.0.0.2", "192.168.7.2", "2001:db8::2"}))
      << "loopback leads to another machine";
}

/// ssh uses a management network. Both hosts also share a network with RDMA.
TEST(Addresses, ANetworkThatBothHaveByRdmaComesBeforeThatOfSsh) {
  const HostAddresses listener{.machine = "m1",
                               .reached_at = "10.0.0.2",
                               .addresses = {"10.0.0.2", "192.168.77.2"},
                               .rdma_networks = {"192.168.77.2/24"}};
  HostAddresses dialler{.machine = "m2", .reached_at = "10.0.0.3", .rdma_networks = {"192.168.77.1/24"}};
  EXPECT_EQ(addresses_of(listener, dialler, {.name = "big"}), (Texts{"192.168.77.2", "10.0.0.2", "big"}));
  EXPECT_EQ(addresses_of(listener, dialler, {.name = "big", .is_known_here = true}).front(), "192.168.77.2");
  EXPECT_EQ(addresses_of(listener, dialler, {.name = "big", .may_be_rdma = false}).front(), "10.0.0.2");
  EXPECT_EQ(addresses_of(listener, dialler, {.name = "big", .data_address = "10.0.0.2"}), Texts{"10.0.0.2"});
  dialler.rdma_networks = {"192.168.78.1/24"};
  EXPECT_EQ(addresses_of(listener, dialler, {.name = "big"}).front(), "10.0.0.2") << "no way is known to lead there";
}

TEST(Addresses, WhatTheDiallerHasItselfLeadsNowhere) {
  const HostAddresses listener{.machine = "m1",
                               .reached_at = "10.0.0.2",
                               .addresses = {"10.0.0.2", "172.17.0.1", "192.168.77.2"},
                               .rdma_networks = {"172.17.0.1/16", "192.168.77.2/24"}};
  const HostAddresses dialler{.machine = "m2",
                              .reached_at = "10.0.0.3",
                              .addresses = {"10.0.0.3", "172.17.0.1", "192.168.77.1"},
                              .rdma_networks = {"172.17.0.1/16", "192.168.77.1/24"}};
  EXPECT_EQ(addresses_of(listener, dialler, {.name = "big"}), (Texts{"192.168.77.2", "10.0.0.2", "big"}));
}

TEST(RdmaNetworks, SharedAreThoseOfOneNetwork) {
  EXPECT_EQ(shared_addresses({"10.1.2.3/16", "10.2.0.1/16"}, {"10.1.9.9/16"}), Texts{"10.1.2.3"});
  EXPECT_EQ(shared_addresses({"10.1.2.3/23"}, {"10.1.3.4/23"}), Texts{"10.1.2.3"});
  EXPECT_EQ(shared_addresses({"10.1.2.3/24"}, {"10.1.3.4/24"}), Texts{});
  EXPECT_EQ(shared_addresses({"2001:db8::2/64", "10.0.0.1/8"}, {"2001:db8::1/64"}), Texts{"2001:db8::2"});
  EXPECT_EQ(shared_addresses({"2001:db8:0:1::2/64"}, {"2001:db8::1/64"}), Texts{});
  EXPECT_EQ(shared_addresses({"10.0.0.1/24"}, {"10.0.0.1/24"}), Texts{}) << "that is the dialler itself";
}

/// These strings come from another host.
TEST(RdmaNetworks, WhatIsNoNetworkCountsForNothing) {
  const Texts good{"10.0.0.1/8"};
  for (const char* bad : {"", "/", "10.0.0.2", "10.0.0.2/", "10.0.0.2/33", "10.0.0.2/0", "10.0.0.2/8x", "10.0.0.2/-8",
                          "x/8", "::2/129", "10.0.0.2/99999999999999999999"}) {
    EXPECT_EQ(shared_addresses({bad}, good), Texts{}) << bad;
    EXPECT_EQ(shared_addresses(good, {bad}), Texts{}) << bad;
  }
}

TEST(JsonLines, PassesOverWhatAShellSaysFirst) {
  PipeEnds pipe = make_pipe();
  const std::string said = "Welcome!\n\n17\n{\"no\":1}\n{\"type\":\"a\"}\nnoise\n{\"type\":\"b\"}\n";
  ASSERT_EQ(::write(pipe.writes.get(), said.data(), said.size()), static_cast<ssize_t>(said.size()));
  JsonLines lines(std::move(pipe.reads), {}, true);
  EXPECT_TRUE(lines.receive());
  Json message;
  ASSERT_TRUE(lines.next(message));
  EXPECT_EQ(message["type"], "a");
  EXPECT_FALSE(lines.next(message));
  EXPECT_NE(lines.fault().find("'noise'"), std::string::npos);
}

TEST(JsonLines, TakesNoLineWithoutEnd) {
  PipeEnds pipe = make_pipe();
  JsonLines lines(std::move(pipe.reads), {}, true);
  const std::string zeros(4096, '\0');
  for (int i = 0; i < 1024 && !lines.has_ended(); ++i) {
    ASSERT_EQ(::write(pipe.writes.get(), zeros.data(), zeros.size()), static_cast<ssize_t>(zeros.size()));
    lines.receive();
  }
  EXPECT_NE(lines.fault().find("no message of rdpipe"), std::string::npos);
}

TEST(JsonLines, SaysWhatIsToBeSaidWhenThereIsRoom) {
  PipeEnds pipe = make_pipe();
  JsonLines writer({}, std::move(pipe.writes));
  JsonLines reader(std::move(pipe.reads), {});
  for (int i = 0; i < 3000; ++i) {
    writer.send({{"type", "number"}, {"text", std::string(100, 'x')}, {"i", i}});
  }
  EXPECT_TRUE(writer.wants_write());
  int next = 0;
  for (Json message; next < 3000;) {
    writer.flush();
    ASSERT_TRUE(reader.receive());
    while (reader.next(message)) {
      EXPECT_EQ(message["i"], next++);
    }
  }
  EXPECT_FALSE(writer.wants_write());
  writer.close_out();
  EXPECT_FALSE(reader.receive());
  EXPECT_TRUE(reader.fault().empty());
}

}  // namespace
}  // namespace framewire
