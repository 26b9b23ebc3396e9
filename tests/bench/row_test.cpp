#include "bench/row.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/link_row.hpp"

namespace framewire {
namespace {

RowResult row(const std::string& transport, const std::string& operation) {
  return {
      .plan = {.transport = transport, .operation = operation, .message_bytes = 1000},
      .client = {.count = 100, .seconds = 4, .cpu_seconds = 1, .latency_us = {1, 2, 2.5, 3}, .transport = transport},
      .server = {.count = 100,
                 .seconds = 2,
                 .cpu_seconds = 1,
                 .latency_us = {4, 5, 5.5, 6},
                 .latency_uncertainty_us = 0.75,
                 .transport = transport}};
}

TEST(Row, OfALinkTheServersTimeCountsAndOfTheVerbsTheClients) {
  EXPECT_DOUBLE_EQ(row("tcp", "stream").messages_per_second().value(), 50);
  EXPECT_DOUBLE_EQ(row("verbs", "write").messages_per_second().value(), 25);
  EXPECT_DOUBLE_EQ(row("verbs", "write").gigabytes_per_second().value() * 1e9, 25'000);
}

TEST(Row, VerbsHaveALatencyOnlyWhereItIsMeasured) {
  const auto rows = nlohmann::json::parse(
      rows_to_json({row("tcp", "stream"), row("verbs", "latency"), row("verbs", "write")}))["results"];
  EXPECT_EQ(rows[0]["latency_us"]["p50"], 4);
  EXPECT_EQ(rows[1]["latency_us"]["p50"], 1);
  EXPECT_TRUE(rows[2]["latency_us"]["p50"].is_null());
  EXPECT_TRUE(rows[2]["latency_method"].is_null());
  EXPECT_EQ(rows[2]["seconds"], 4);
  EXPECT_EQ(rows[2]["server_seconds"], 2);
}

/// Latency is half the round trip that the sender measures, for every transport. The latency by the receiver's clock is
/// a separate field.
TEST(Row, LatencyIsHalfOfARoundTripOfEveryTransport) {
  for (const char* transport : {"socket", "local", "tcp", "rdma", "verbs"}) {
    RowResult there = row(transport, "latency");
    auto json = nlohmann::json::parse(rows_to_json({there}))["results"][0];
    EXPECT_EQ(json["latency_us"], nlohmann::json({{"p50", 1}, {"p99", 2}, {"p99.9", 2.5}, {"max", 3}})) << transport;
    EXPECT_EQ(json["latency_method"], "half_round_trip");
    there.plan.is_reverse = true;
    json = nlohmann::json::parse(rows_to_json({there}))["results"][0];
    EXPECT_EQ(json["latency_us"]["p50"], 4) << transport << ": in reverse the server is the sender";
  }
}

TEST(Row, OneWayFiguresSayHowFarTheClocksMayDiffer) {
  RowResult tcp = row("tcp", "stream");
  const auto json = nlohmann::json::parse(rows_to_json({tcp}))["results"][0];
  const nlohmann::json wanted{{"p50", 4}, {"p99", 5}, {"p99.9", 5.5}, {"max", 6}, {"uncertainty", 0.75}};
  EXPECT_EQ(json["one_way_us"], wanted);
  EXPECT_EQ(json["latency_method"], "one_way");
  EXPECT_NE(rows_to_table({tcp}).find(" 4.00±0.750 "), std::string::npos) << rows_to_table({tcp});
  tcp.plan.is_remote = true;
  tcp.plan.transport = socket_transport;  // its ends have no common clock
  for (const RowResult& one : {tcp, row("verbs", "latency")}) {
    EXPECT_TRUE(nlohmann::json::parse(rows_to_json({one}))["results"][0]["one_way_us"].is_null());
  }
  EXPECT_EQ(side_result_from_json(side_result_to_json(tcp.server)).latency_uncertainty_us, 0.75);
  EXPECT_EQ(side_result_from_json(side_result_to_json(tcp.server)).latency_us.p99_9, 5.5);
}

TEST(Row, ResultsOfAnotherShapeAreRefused) {
  const auto good = nlohmann::json::parse(side_result_to_json(row("tcp", "stream").server));
  const auto is_refused = [](const std::string& text) {
    try {
      side_result_from_json(text);
      return false;
    } catch (const Error& error) {
      return std::string_view(error.what()).find("it sent no results") != std::string_view::npos;
    }
  };
  EXPECT_FALSE(is_refused(good.dump()));
  EXPECT_TRUE(is_refused(""));
  EXPECT_TRUE(is_refused("[]"));
  for (const auto& [field, value] : good.items()) {
    nlohmann::json changed = good;
    changed.erase(field);
    EXPECT_TRUE(is_refused(changed.dump())) << field;
    changed[field] = nlohmann::json::array();
    EXPECT_TRUE(is_refused(changed.dump())) << field;
  }
  for (const auto& [field, value] : good["latency_us"].items()) {
    nlohmann::json changed = good;
    changed["latency_us"][field] = "1";
    EXPECT_TRUE(is_refused(changed.dump())) << field;
  }
  nlohmann::json changed = good;
  changed["count"] = -1;
  EXPECT_TRUE(is_refused(changed.dump())) << "it was taken for a large number";
}

TEST(Row, InReverseTheClientReceivesAndMeasures) {
  RowResult reverse = row("tcp", "stream");
  reverse.plan.is_reverse = true;
  const auto rows = nlohmann::json::parse(rows_to_json({row("tcp", "stream"), reverse}))["results"];
  EXPECT_EQ(rows[0]["direction"], "forward");
  EXPECT_EQ(rows[0]["seconds"], 2);
  EXPECT_EQ(rows[0]["latency_us"]["p50"], 4);
  EXPECT_EQ(rows[1]["direction"], "reverse");
  EXPECT_EQ(rows[1]["seconds"], 4);
  EXPECT_EQ(rows[1]["latency_us"]["p50"], 1);
  EXPECT_NE(rows_to_table({reverse}).find("\nrev: "), std::string::npos);
  EXPECT_NE(rows_to_table({row("tcp", "stream"), reverse}).find(" stream rev "), std::string::npos);
  EXPECT_EQ(rows_to_table({row("tcp", "stream")}).find("rev"), std::string::npos);
}

TEST(Row, ATableShowsThreeDigitsOfASlowDeviceToo) {
  RowResult slow = row("verbs", "write");
  slow.plan.message_bytes = 64;
  const std::string table = rows_to_table({slow});
  EXPECT_NE(table.find(" 0.00160 "), std::string::npos) << table;  // 25 messages of 64 bytes a second, in MB/s
  EXPECT_NE(table.find("when the client says that all is done"), std::string::npos) << table;
  EXPECT_EQ(rows_to_table({row("tcp", "stream")}).find("when the client says that all is done"), std::string::npos);
}

TEST(Row, VerbsAreComparedWithTheSocketsStream) {
  const std::string table = rows_to_table({row("socket", "stream"), row("verbs", "write")});
  EXPECT_NE(table.find("0.50\n"), std::string::npos) << table;
}

TEST(Row, ATimeThatIsNotKnownGivesNoRate) {
  RowResult unknown = row("tcp", "stream");
  unknown.server.seconds = 0;
  EXPECT_FALSE(unknown.messages_per_second() || unknown.gigabytes_per_second());
  const auto json = nlohmann::json::parse(rows_to_json({unknown}))["results"][0];
  for (const char* key : {"seconds", "server_seconds", "messages_per_second", "gigabytes_per_second"}) {
    EXPECT_TRUE(json[key].is_null()) << key;
  }
  EXPECT_EQ(json["client_seconds"], 4);
  const std::string table = rows_to_table({unknown, row("socket", "stream")});
  EXPECT_NE(table.find(" 4000      -     -      -"), std::string::npos) << table;
  EXPECT_NE(table.find("-\nsocket"), std::string::npos) << table;
  EXPECT_EQ(speed_text(unknown.server, 1), "in a time that is not known");
  EXPECT_EQ(side_result_from_json(side_result_to_json(unknown.server)).seconds, 0);
  EXPECT_EQ(median_row({unknown, row("tcp", "stream"), row("tcp", "stream")}).server.seconds, 2);
}

/// For each line, how many characters it has: "±" is two bytes.
std::vector<std::ptrdiff_t> line_lengths(const std::string& text) {
  std::vector<std::ptrdiff_t> lengths;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    lengths.push_back(
        std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
  }
  return lengths;
}

TEST(Row, TheTableFitsATerminalOf120Columns) {
  std::vector<RowResult> rows;
  for (const char* transport : {"socket", "local", "tcp", "rdma", "verbs"}) {
    for (const char* operation : {"stream", "latency", "write_imm"}) {
      RowResult large = row(transport, operation);
      large.plan.message_bytes = 33'177'600;
      large.plan.is_reverse = rows.size() % 2 == 1;
      large.plan.is_remote = true;
      for (SideResult* side : {&large.client, &large.server}) {
        side->count = 1'234'567;
        side->seconds = 0.123456;
        side->latency_us = {1234.5, 12345.6, 12346.7, 123456.7};
        side->latency_uncertainty_us = 12.345;
      }
      rows.push_back(large);
      large.plan.message_bytes = 64;
      rows.push_back(large);
    }
  }
  const std::string table = rows_to_table(rows);
  EXPECT_LE(std::ranges::max(line_lengths(table)), 120) << table;
}

/// Their names are the longest. The rows are as short as 10,000 frames of a fast machine, and as many as a minute's.
TEST(Row, TheTableOfFramesFitsATerminalOf120Columns) {
  std::vector<RowResult> rows;
  const auto add = [&](const std::string& transport, const std::string& label, std::uint64_t count, double seconds) {
    RowResult one = row(transport, "stream");
    one.plan.label = label;
    one.plan.message_bytes = 64;
    for (SideResult* side : {&one.client, &one.server}) {
      side->count = count;
      side->seconds = seconds;
      side->cpu_seconds = seconds;
      side->latency_us = {1234.5, 12345.6, 12346.7, 123456.7};
      side->latency_uncertainty_us = 0;
    }
    rows.push_back(one);
  };
  add("socket", "socket veth", 10'000, 0.0283);
  for (const char* label : {"xdp generic/1 copy", "xdp native/32 copy", "xdp native/32 zerocopy"}) {
    add("xdp", label, 10'000, 0.00563);
    add("xdp", label, 99'999, 0.0999);
    add("xdp", label, 600'000'000, 59.999);
  }
  const std::string table = rows_to_table(rows);
  EXPECT_LE(std::ranges::max(line_lengths(table)), 120) << table;
}

/// local copies nothing, so bytes by time would be no bandwidth.
TEST(Row, LocalShowsABandwidthOnlyIfTheReceiverReadsTheBytes) {
  RowResult local = row("local", "stream");
  const std::vector rows = {row("socket", "stream"), local};
  EXPECT_NE(rows_to_table(rows).find("without copying"), std::string::npos);
  EXPECT_EQ(rows_to_table({local}).find(" 0.0500 "), std::string::npos) << rows_to_table({local});
  EXPECT_NE(rows_to_table(rows).find("-\ncli ms"), std::string::npos) << rows_to_table(rows);
  EXPECT_EQ(rows_to_table({local}).find(" x\n"), std::string::npos) << "there is nothing to compare with";
  EXPECT_EQ(speed_text(local.server, 1), "in 2.000 s, 50 messages/s");
  EXPECT_EQ(speed_text(row("tcp", "stream").server, 0.001), "in 2.000 s, 50 messages/s, 500 kB/s");
  local.plan.touches_payload = true;
  EXPECT_NE(rows_to_table({local}).find(" 0.0500 "), std::string::npos) << rows_to_table({local});
  EXPECT_EQ(rows_to_table({local}).find("without copying"), std::string::npos);
}

/// Each message takes 10 ms and starts when the previous one has arrived: 100 a second, for any count.
TEST(RowSpan, NMessagesTakeNTimesAsLongAsOne) {
  constexpr std::int64_t each_ns = 10'000'000;
  constexpr std::int64_t ahead_ns = -777'000'000'000;  // the receiver's clock is ahead
  for (const std::uint64_t count : {1U, 2U, 6U, 1000U}) {
    RowSpan span;
    std::int64_t now_ns = 5'000'000'000;
    for (std::uint64_t i = 0; i < count; ++i) {
      span.take(now_ns, now_ns + each_ns - ahead_ns, ahead_ns);
      now_ns += each_ns;
    }
    EXPECT_EQ(span.count(), count);
    RowResult result = row("tcp", "stream");
    result.client.count = count;
    result.server.seconds = span.seconds(0);
    EXPECT_NEAR(result.messages_per_second().value(), 100, 1e-6) << count;
  }
}

TEST(RowSpan, WhatTheClocksCannotTellIsNotKnown) {
  EXPECT_EQ(RowSpan().seconds(0), 0);
  RowSpan span;
  span.take(1'000, 3'000, -500);
  EXPECT_DOUBLE_EQ(span.seconds(1'499), 1.5e-6);
  EXPECT_EQ(span.seconds(1'500), 0);
  RowSpan of_an_unrecognized_peer;
  of_an_unrecognized_peer.take(0, 3'000, 0);
  EXPECT_EQ(of_an_unrecognized_peer.seconds(0), 0);
}

}  // namespace
}  // namespace framewire
