#include "bench/options.hpp"

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

}  // namespace
}  // namespace framewire
