#include "bench/client.hpp"

#include <gtest/gtest.h>

namespace framewire {
namespace {

std::vector<RowPlan> plans() {
  std::vector<RowPlan> plans;
  for (const char* transport : {"tcp", "rdma", "verbs"}) {
    for (const std::uint64_t bytes : {64U, 4096U}) {
      plans.push_back({.transport = transport, .operation = "latency", .message_bytes = bytes, .count = 1});
    }
  }
  return plans;
}

std::vector<bool> wanted(const Results& results) {
  std::vector<bool> wanted;
  for (std::size_t i = 0; i < results.plans().size(); ++i) {
    wanted.push_back(results.is_wanted(i));
  }
  return wanted;
}

RowResult measured(const RowPlan& plan, double p50) {
  RowResult row{.plan = plan, .client = {}, .server = {}};
  row.client.latency_us = {p50, p50, p50, p50};
  return row;
}

TEST(Results, WithoutRdmaTheTransportIsLeftOut) {
  for (const Error& why : {Error::refused("the server takes none"), Error::lost_peer("nothing answers")}) {
    Results results(plans(), true);
    results.leave_out(2, CannotBegin(why));
    EXPECT_EQ(wanted(results), (std::vector<bool>{true, true, false, false, true, true}));
    EXPECT_EQ(results.status(), ExitStatus::ok);
    ASSERT_EQ(results.omissions().size(), 1U);
    EXPECT_EQ(results.omissions()[0],
              std::string("rows are left out from rdma latency of 64 bytes on, there is no rdma: ") + why.what());
  }
}

TEST(Results, TransportsThatLackTheSameAreNamedTogether) {
  std::vector<RowPlan> plans;
  for (const char* transport : {"tcp", "udp", "xdp", "xdp"}) {
    plans.push_back({.transport = transport, .operation = "stream", .message_bytes = 64, .count = 1});
    plans.back().is_over_veth = transport != std::string("tcp");
  }
  plans.back().mode = XdpMode::native;
  Results results(plans, true);
  const CannotBegin why(Error::refused("this needs cap_bpf"));
  results.leave_out(1, why);
  results.leave_out(2, why);
  EXPECT_EQ(wanted(results), (std::vector<bool>{true, false, false, true}));
  results.leave_out(3, CannotBegin(Error::refused("its driver does not know that mode")));
  EXPECT_EQ(results.status(), ExitStatus::ok);
  EXPECT_EQ(results.omissions(),
            (std::vector<std::string>{
                "rows are left out from udp stream of 64 bytes on, there is no udp over veth, xdp generic over veth: "
                "this needs cap_bpf",
                "rows are left out from xdp stream of 64 bytes on, there is no xdp native over veth: its driver does "
                "not know that mode"}));
}

TEST(Results, AModeThatNobodyNamedMayBeLeftOutOfAnAskedTransport) {
  std::vector<RowPlan> plans(2, {.transport = "xdp", .operation = "stream", .message_bytes = 64, .count = 1});
  plans.back().mode = XdpMode::native;
  plans.back().is_optional = true;
  Results results(plans, false);
  results.leave_out(1, CannotBegin(Error::refused("its driver does not know that mode")));
  EXPECT_EQ(wanted(results), (std::vector<bool>{true, false}));
  EXPECT_THROW(results.leave_out(0, CannotBegin(Error::refused("no"))), CannotBegin);
}

/// The limit on locked memory is too low for the long messages. The short ones show that RDMA works.
TEST(Results, AFaultOfOneRowIsNamedAndIsNoSuccess) {
  Results results(plans(), true);
  results.leave_out(5, CannotBegin(Error::failed("raise ulimit -l")));
  EXPECT_EQ(wanted(results), (std::vector<bool>{true, true, true, true, true, false}));
  EXPECT_EQ(results.status(), ExitStatus::failed);
  ASSERT_EQ(results.omissions().size(), 1U);
  EXPECT_EQ(results.omissions()[0], "verbs latency of 4096 bytes is left out: raise ulimit -l");
}

TEST(Results, WhatWasAskedForIsNotLeftOut) {
  Results asked(plans(), false);
  EXPECT_THROW(asked.leave_out(2, CannotBegin(Error::refused("no"))), CannotBegin);
  Results open(plans(), true);
  EXPECT_THROW(open.leave_out(0, CannotBegin(Error::refused("no"))), CannotBegin);
  EXPECT_EQ(wanted(open), std::vector<bool>(6, true));
}

TEST(Results, WhatWasMeasuredBeforeAFaultIsThere) {
  Results results(plans(), true);
  EXPECT_TRUE(results.rows().empty());
  for (const double p50 : {3.0, 1.0, 2.0}) {
    results.add(1, measured(results.plans()[1], p50));
  }
  results.add(0, measured(results.plans()[0], 7));
  const auto rows = results.rows();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].latency_us().p50, 7);
  EXPECT_EQ(rows[1].latency_us().p50, 2);
}

TEST(LastLogLine, TheLastLineIsKept) {
  LastLogLine log(nullptr);
  EXPECT_EQ(log.last(), "");
  log.info("one");
  log.warning("two\n  three");
  EXPECT_EQ(log.last(), "  three");
  log.detail("not shown");
  EXPECT_EQ(log.last(), "  three");
  log.forget();
  EXPECT_EQ(log.last(), "");
}

}  // namespace
}  // namespace framewire
