#include "bench/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace framewire {
namespace {

BenchOptions parse(std::vector<const char*> words) {
  words.insert(words.begin(), "framewire-bench");
  return parse_bench_options(static_cast<int>(words.size()), words.data()).value();
}

std::vector<std::string> rows_of(const BenchOptions& options, const std::vector<std::string>& transports) {
  std::vector<std::string> names;
  for (const RowPlan& row : plan_rows(options, transports)) {
    names.push_back(row.transport + " " + row.operation);
  }
  return names;
}

TEST(Plan, LinksStreamAndVerbsHaveOperations) {
  const BenchOptions options = parse({"--message-bytes", "64"});
  EXPECT_EQ(rows_of(options, {"tcp", "verbs"}),
            (std::vector<std::string>{"tcp stream", "verbs send", "verbs write", "verbs write_imm", "verbs read",
                                      "tcp latency", "verbs latency"}));
  EXPECT_EQ(rows_of(parse({"--message-bytes", "64", "--operation", "read,latency"}), {"tcp", "verbs"}),
            (std::vector<std::string>{"verbs read", "tcp latency", "verbs latency"}));
}

TEST(Plan, WhatNobodyDoesIsAnErrorOfUse) {
  EXPECT_THROW(rows_of(parse({"--operation", "read"}), {"tcp", "local"}), Error);
  EXPECT_THROW(rows_of(parse({"--operation", "stream"}), {"verbs"}), Error);
  EXPECT_THROW(parse({"--operation", "steal"}), Error);
  EXPECT_THROW(parse({"--operation", "read,,write"}), Error);
  EXPECT_THROW(parse({"--transport", "pigeon"}), Error);
}

TEST(Plan, ARowEndsByCountOrTimeOrBoth) {
  const auto row = [](const std::vector<const char*>& words) { return plan_rows(parse(words), {"tcp"}).front(); };
  EXPECT_TRUE(row({}).is_over(1, ns_per_s));
  EXPECT_FALSE(row({}).is_over(UINT64_MAX, ns_per_s - 1));
  EXPECT_FALSE(row({"--count", "10"}).is_over(9, 3600 * ns_per_s));
  EXPECT_TRUE(row({"--count", "10"}).is_over(10, 0));
  EXPECT_TRUE(row({"--count", "10", "--duration", "5s"}).is_over(9, 5 * ns_per_s));
  EXPECT_TRUE(row({"--count", "10", "--duration", "5s"}).is_over(10, 1));
  EXPECT_FALSE(row({"--count", "10", "--duration", "5s"}).is_over(9, 1));
}

/// These rows run next to those of the links, whether or not the server is remote.
TEST(Plan, PlainSocketsAreTheReferenceThereToo) {
  const BenchOptions there = parse({"big", "--message-bytes", "64"});
  const std::vector<std::string> transports = transports_here(there);
  EXPECT_EQ(transports.front(), socket_transport);
  EXPECT_EQ(std::ranges::count(transports, "local"), 0);
  EXPECT_TRUE(plan_rows(there, transports).front().is_remote);
  EXPECT_FALSE(plan_rows(parse({}), {socket_transport}).front().is_remote);
  EXPECT_EQ(transports_here(parse({"big", "--encrypt"})), std::vector<std::string>{"tcp"});
}

/// The clocks of two machines cannot be compared.
TEST(Plan, ASocketToAnotherMachineHasNoLatencyButOfRoundTrips) {
  const auto has_latency = [](const std::vector<const char*>& words, const char* operation) {
    RowResult row{.plan = plan_rows(parse(words), {socket_transport}).front(), .client = {}, .server = {}};
    row.plan.operation = operation;
    return row.has_latency();
  };
  EXPECT_TRUE(has_latency({}, "stream"));
  EXPECT_FALSE(has_latency({"big"}, "stream"));
  EXPECT_TRUE(has_latency({"big"}, "latency"));
}

TEST(Plan, OnlyLinksGoInReverse) {
  const BenchOptions options = parse({"--reverse"});
  for (const std::string& transport : transports_here(options)) {
    EXPECT_TRUE(link_kind_from_name(transport)) << transport;
  }
  EXPECT_TRUE(plan_rows(options, {"tcp"}).front().is_reverse);
  EXPECT_FALSE(plan_rows(parse({}), {"tcp"}).front().is_reverse);
  EXPECT_THROW(parse({"--reverse", "--transport", "verbs"}), Error);
  EXPECT_THROW(parse({"--reverse", "--transport", "socket"}), Error);
}

TEST(Plan, VerbsAreWhatTheyAreCalled) {
  const BenchOptions options = parse({"--transport", "verbs"});
  EXPECT_EQ(options.transports, std::vector<std::string>{"verbs"});
  EXPECT_EQ(options.endpoint.allowed_links, std::vector<LinkKind>{LinkKind::rdma});
  EXPECT_FALSE(options.endpoint.may_choose_link);
}

std::vector<std::string> labels_of(const std::vector<const char*>& words) {
  const BenchOptions options = parse(words);
  std::vector<std::string> labels;
  for (const RowPlan& row : plan_rows(options, transports_here(options))) {
    labels.push_back(name_of(row));
  }
  return labels;
}

TEST(Plan, XdpOnOneMachineComesWithItsReferences) {
  EXPECT_EQ(labels_of({"--transport", "xdp", "--message-bytes", "64", "--operation", "stream"}),
            (std::vector<std::string>{"socket veth", "udp veth/1", "udp veth/32", "xdp generic/1", "xdp generic/32",
                                      "xdp native/1", "xdp native/32"}));
  EXPECT_EQ(labels_of({"--transport", "xdp", "--message-bytes", "64", "--operation", "stream", "--batch", "8",
                       "--xdp-mode", "native"}),
            (std::vector<std::string>{"socket veth", "udp veth/8", "xdp native/8"}));
  EXPECT_EQ(labels_of({"big", "--transport", "xdp", "--interface", "eth0", "--message-bytes", "64", "--operation",
                       "latency", "--batch", "1"}),
            (std::vector<std::string>{"xdp generic/1", "xdp native/1"}));
  const auto rows = [](const std::vector<const char*>& words) { return plan_rows(parse(words), {xdp_transport}); };
  EXPECT_TRUE(rows({"--transport", "xdp"}).back().is_optional) << "not every driver has native mode";
  EXPECT_FALSE(rows({"--transport", "xdp", "--xdp-mode", "native"}).back().is_optional) << "it was asked for";
  EXPECT_EQ(std::ranges::count(transports_here(parse({})), xdp_transport), 0) << "it needs capabilities";
}

TEST(Plan, WhatXdpDoesNotDoIsAnErrorOfUse) {
  for (const std::vector<const char*>& words :
       std::vector<std::vector<const char*>>{{"--transport", "xdp", "--reverse"},
                                             {"--transport", "xdp", "--encrypt"},
                                             {"big", "--transport", "xdp"},
                                             {"--interface", "eth0"},
                                             {"--batch", "0"},
                                             {"--batch", "1,,2"},
                                             {"--batch", "2000"},
                                             {"--xdp-mode", "generic,"},
                                             {"--xdp-mode", "skb"}}) {
    EXPECT_THROW(parse(words), Error) << words.back();
  }
}

TEST(Plan, PlainSocketsHaveALabel) {
  EXPECT_EQ(labels_of({"127.0.0.1", "--plain", "--message-bytes", "64", "--operation", "stream"}),
            std::vector<std::string>{"plain"});
  EXPECT_EQ(labels_of({"127.0.0.1", "--plain", "--label", "vpp", "--transport", "socket", "--message-bytes", "64",
                       "--operation", "stream"}),
            std::vector<std::string>{"vpp"});
  EXPECT_TRUE(parse({"--listen", "127.0.0.1:1", "--plain"}).is_plain);
  EXPECT_TRUE(parse({"--listen", "0.0.0.0:1", "--plain", "--insecure"}).is_plain);
  for (const std::vector<const char*>& words :
       std::vector<std::vector<const char*>>{{"--plain"},
                                             {"--listen", "0.0.0.0:1", "--plain"},
                                             {"big", "--label", "x"},
                                             {"big", "--plain", "--reverse"},
                                             {"big", "--plain", "--transport", "tcp"},
                                             {"big", "--plain", "--spin"},
                                             {"big", "--plain", "--encrypt"},
                                             {"big", "--plain", "--rate", "5"},
                                             {"--spin", "article"},
                                             {"article", "big", "--plain"}}) {
    EXPECT_THROW(parse(words), Error) << words.back();
  }
}

TEST(Plan, TheArticleHasTwoSizesAndItsPlotMore) {
  const BenchOptions options = parse({"article"});
  EXPECT_TRUE(options.is_article);
  for (const RowPlan& row : plan_rows(options, {"socket", "tcp", "verbs", "xdp"})) {
    EXPECT_NE(row.operation, "latency");
    EXPECT_EQ(row.count, row.message_bytes == 64 ? 100'000U : 1'000U);
    EXPECT_TRUE(row.message_bytes == 64 || row.message_bytes == 1 << 20) << row.message_bytes;
  }
  const auto rows = plan_rows(parse({"article", "--plot", "x.svg", "--count", "50"}), {"tcp"});
  EXPECT_EQ(std::ranges::count_if(rows, &RowPlan::is_for_plot), 2 * 8);
  EXPECT_TRUE(std::ranges::all_of(rows, [](const RowPlan& row) { return row.count >= 1 && row.count <= 50; }));
  for (const std::vector<const char*>& words :
       std::vector<std::vector<const char*>>{{"article", "--message-bytes", "64"},
                                             {"article", "--operation", "stream"},
                                             {"article", "--reverse"},
                                             {"--plot", "x.svg"}}) {
    EXPECT_THROW(parse(words), Error) << words.back();
  }
}

}  // namespace
}  // namespace framewire
