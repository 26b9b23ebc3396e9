// Which rows the doctor requests from framewire bench, and how it checks the answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "doctor/probe.hpp"
#include "doctor/report.hpp"
#include "tests/doctor/machines.hpp"

namespace framewire {
namespace {

using nlohmann::json;
using test::failed;
using test::measured;

const HostRow burst_back{.link = LinkKind::tcp, .is_latency = false, .is_reverse = true};

json good_row() {
  return {{"transport", "tcp"},           {"operation", "stream"},
          {"direction", "reverse"},       {"count", 100},
          {"gigabytes_per_second", 1.25}, {"latency_us", {{"p50", 10.5}, {"p99", 20.5}, {"max", 30}}}};
}

Measurement read(const std::string& text) {
  ChildOutput output;
  output.text = text;
  output.has_ended_well = true;
  output.exit_status = 0;
  return read_bench_output(output, burst_back);
}

Measurement read_results(const json& results) {
  return read(json{{"results", results}}.dump());
}

TEST(HostRows, AreReadAsBenchPrintsThem) {
  const Measurement row = read_results(json::array({good_row()}));
  EXPECT_TRUE(row.is_done());
  EXPECT_EQ(row.trouble, "");
  EXPECT_EQ(row.count, 100U);
  EXPECT_DOUBLE_EQ(row.gigabytes_per_second, 1.25);
  EXPECT_DOUBLE_EQ(row.latency_p50_us, 10.5);
  EXPECT_DOUBLE_EQ(row.latency_p99_us, 20.5);
}

TEST(HostRows, GarbageIsNoRow) {
  for (const char* text : {"", "{", "null", "[]", "{}", R"({"results":1})", R"({"results":[]})", R"({"results":[1]})",
                           R"({"results":[{}]})", "\xff\xfe", "[[[[[[[[", R"({"results":[{"transport":7}]})"}) {
    const Measurement row = read(text);
    EXPECT_FALSE(row.is_done()) << text;
    EXPECT_NE(row.trouble, "") << text;
  }
}

TEST(HostRows, ARowOfAnotherKindIsNone) {
  EXPECT_FALSE(read_results(json::array({good_row(), good_row()})).is_done());
  const json others{
      {"transport", "rdma"}, {"operation", "latency"}, {"direction", "forward"}, {"count", 0}, {"latency_us", nullptr}};
  for (const auto& [field, value] : others.items()) {
    json row = good_row();
    row[field] = value;
    EXPECT_FALSE(read_results(json::array({row})).is_done()) << field;
    row.erase(field);
    EXPECT_FALSE(read_results(json::array({row})).is_done()) << field;
  }
}

TEST(HostRows, NumbersThatMeanNothingAreNone) {
  for (const json& wrong : {json(-1), json("fast"), json(nullptr), json::array()}) {
    json row = good_row();
    row["gigabytes_per_second"] = wrong;
    row["latency_us"]["p50"] = wrong;
    const Measurement measured = read_results(json::array({row}));
    EXPECT_EQ(measured.gigabytes_per_second, 0);
    EXPECT_EQ(measured.latency_p50_us, 0);
    row["count"] = wrong;
    EXPECT_FALSE(read_results(json::array({row})).is_done());
  }
  json row = good_row();
  row["count"] = 1e300;
  EXPECT_TRUE(read_results(json::array({row})).is_done());
}

TEST(HostRows, AFailureIsTheLastErrorOfBench) {
  ChildOutput output;
  output.text = "half a row";
  output.complaint = "a warning\nframewire-bench: nothing\tlistens at big:5290\n";
  output.exit_status = 4;
  output.trouble = "it ended with exit status 4";
  EXPECT_EQ(read_bench_output(output, burst_back).trouble, "nothing\\x09listens at big:5290");
  EXPECT_TRUE(read_bench_output(output, burst_back).has_lost_peer);
  output.complaint.clear();
  EXPECT_EQ(read_bench_output(output, burst_back).trouble, "framewire-bench: it ended with exit status 4");
  output.is_late = true;
  output.complaint = "half a line";
  output.trouble = "it did not end within 20000 ms";
  EXPECT_EQ(read_bench_output(output, burst_back).trouble, "framewire-bench: it did not end within 20000 ms");
  output.complaint.assign(60000, 'x');
  output.is_late = false;
  EXPECT_LT(read_bench_output(output, burst_back).trouble.size(), 700U);
}

TEST(HostRows, PassOnWhatWasSaid) {
  HostTarget target{.at = {.host = "fe80::1", .port = 7}, .key_file = "/a key", .insecure = true, .timeout = "3s"};
  const std::vector<std::string> arguments = bench_arguments(target, burst_back);
  EXPECT_EQ(arguments.front(), "[fe80::1]:7");
  const auto follows = [&](const char* option, const char* value) {
    const auto found = std::ranges::find(arguments, option);
    return found != arguments.end() && found + 1 != arguments.end() && *(found + 1) == value;
  };
  EXPECT_TRUE(follows("--key", "/a key"));
  EXPECT_TRUE(follows("--timeout", "3s"));
  EXPECT_TRUE(follows("--transport", "tcp"));
  EXPECT_TRUE(follows("--operation", "stream"));
  EXPECT_NE(std::ranges::find(arguments, "--insecure"), arguments.end());
  EXPECT_NE(std::ranges::find(arguments, "--reverse"), arguments.end());
  EXPECT_EQ(bench_arguments({}, {.link = LinkKind::rdma, .is_latency = true}).size(), 10U);
}

// ---- the rows that are run

struct Runs {
  std::vector<std::string> rows;
  std::set<std::string> fail;  // these rows fail
  bool is_lost = false;

  Measurement operator()(const HostRow& row) {
    rows.push_back(std::string(name(row.link)) + (row.is_latency ? " latency" : row.is_reverse ? " back" : " there"));
    if (!fail.contains(rows.back())) {
      return measured(1);
    }
    Measurement result = failed("no");
    result.has_lost_peer = is_lost;
    return result;
  }
};

/// The machine lacks what other links than local, rdma and tcp need.
RemoteHostReport measure(Runs& runs, MachineFacts machine, std::optional<LinkKind> wanted = {},
                         const std::string& met = "") {
  machine.links.others = probe_links().others;
  for (OtherLink& other : machine.links.others) {
    other.missing = "no device";
  }
  RemoteHostReport host = test::big();
  measure_links(host, machine, wanted, std::ref(runs), [&] { return met; });
  return host;
}

const LinkMeasurements& of(const RemoteHostReport& host, LinkKind link) {
  static const LinkMeasurements none;
  const auto found = std::ranges::find(host.links, link, &LinkMeasurements::link);
  EXPECT_NE(found, host.links.end()) << name(link);
  return found != host.links.end() ? *found : none;
}

TEST(HostLinks, AreMeasuredBothWays) {
  Runs runs;
  const RemoteHostReport host = measure(runs, test::rdma_machine());
  EXPECT_EQ(runs.rows, (std::vector<std::string>{"rdma latency", "rdma there", "rdma back", "tcp latency", "tcp there",
                                                 "tcp back"}));
  EXPECT_NE(of(host, LinkKind::local).not_tried, "");
  EXPECT_TRUE(of(host, LinkKind::rdma).works() && of(host, LinkKind::tcp).works());
}

TEST(HostLinks, OnlyWhatWasAskedForAndWhatThereIs) {
  Runs runs;
  measure(runs, test::rdma_machine(), LinkKind::tcp);
  EXPECT_EQ(runs.rows.size(), 3U);
  Runs none;
  const RemoteHostReport host = measure(none, test::plain_machine(), LinkKind::rdma);
  EXPECT_TRUE(none.rows.empty());
  EXPECT_EQ(host.links.front().not_tried, "no RDMA device here");
}

TEST(HostLinks, WhatDoesNotConnectIsNotTriedTwice) {
  Runs runs{.rows = {}, .fail = {"rdma latency", "tcp there"}};
  const RemoteHostReport host = measure(runs, test::rdma_machine());
  EXPECT_EQ(runs.rows, (std::vector<std::string>{"rdma latency", "tcp latency", "tcp there", "tcp back"}));
  EXPECT_FALSE(of(host, LinkKind::rdma).connects());
  EXPECT_TRUE(of(host, LinkKind::tcp).connects() && !of(host, LinkKind::tcp).works());
}

TEST(HostLinks, NothingIsTriedAfterTheServerHasGone) {
  Runs runs{.rows = {}, .fail = {"rdma there"}, .is_lost = true};
  const RemoteHostReport host = measure(runs, test::rdma_machine(), {}, "nothing listens there");
  EXPECT_EQ(runs.rows, (std::vector<std::string>{"rdma latency", "rdma there"}));
  EXPECT_EQ(host.left, "nothing listens there");
  EXPECT_EQ(of(host, LinkKind::tcp).not_tried, "the server went away before");
  Runs still{.rows = {}, .fail = {"rdma there"}, .is_lost = true};
  EXPECT_EQ(measure(still, test::rdma_machine()).left, "") << "only that row was lost";
  EXPECT_EQ(still.rows.size(), 6U);
}

// ---- commands

TEST(HostRemedies, CommandsOfTheOtherMachineAreOneWord) {
  RemoteHostReport host = test::big();
  EXPECT_EQ(start_server(host, 5290), R"(ssh -t big "framewire bench --listen '*:5290'")");
  host.target.at.host = "$(rm -rf ~)";
  EXPECT_EQ(start_server(host, 5290), R"(ssh -t '$(rm -rf ~)' "framewire bench --listen '*:5290'")");
}

TEST(HostRemedies, OnThisMachineNothingGoesByWayOfSsh) {
  RemoteHostReport host = test::big();
  host.is_own_address = true;
  EXPECT_EQ(start_server(host, 5290), "framewire bench --listen :5290");
  EXPECT_TRUE(share_key(host, true).empty());
  host.target.key_file = "/a key";
  EXPECT_EQ(share_key(host, false).front(), "framewire key --file '/a key'");
  EXPECT_EQ(examine_at(host, 7), "framewire doctor big:7 --key '/a key'");
}

}  // namespace
}  // namespace framewire
