#include "bench/row.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace framewire {
namespace {

RowResult row(const std::string& transport, const std::string& operation) {
  return {.plan = {.transport = transport, .operation = operation, .message_bytes = 1000},
          .client = {.count = 100, .seconds = 4, .cpu_seconds = 1, .latency_us = {1, 2, 3}, .transport = transport},
          .server = {.count = 100, .seconds = 2, .cpu_seconds = 1, .latency_us = {4, 5, 6}, .transport = transport}};
}

TEST(Row, OfALinkTheServersTimeCountsAndOfTheVerbsTheClients) {
  EXPECT_DOUBLE_EQ(row("tcp", "stream").messages_per_second(), 50);
  EXPECT_DOUBLE_EQ(row("verbs", "write").messages_per_second(), 25);
  EXPECT_DOUBLE_EQ(row("verbs", "write").gigabytes_per_second() * 1e9, 25'000);
}

TEST(Row, VerbsHaveALatencyOnlyWhereItIsMeasured) {
  const auto rows = nlohmann::json::parse(
      rows_to_json({row("tcp", "latency"), row("verbs", "latency"), row("verbs", "write")}))["results"];
  EXPECT_EQ(rows[0]["latency_us"]["p50"], 4);
  EXPECT_EQ(rows[1]["latency_us"]["p50"], 1);
  EXPECT_TRUE(rows[2]["latency_us"]["p50"].is_null());
  EXPECT_EQ(rows[2]["seconds"], 4);
  EXPECT_EQ(rows[2]["server_seconds"], 2);
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
  EXPECT_NE(rows_to_table({reverse}).find("\nreverse: "), std::string::npos);
  EXPECT_EQ(rows_to_table({row("tcp", "stream")}).find("\nreverse: "), std::string::npos);
}

TEST(Row, ATableShowsThreeDigitsOfASlowDeviceToo) {
  RowResult slow = row("verbs", "write");
  slow.plan.message_bytes = 64;
  const std::string table = rows_to_table({slow});
  EXPECT_NE(table.find(" 0.00160 "), std::string::npos) << table;  // 25 messages of 64 bytes a second, in MB/s
  EXPECT_NE(table.find("takes no part"), std::string::npos) << table;
  EXPECT_EQ(rows_to_table({row("tcp", "stream")}).find("takes no part"), std::string::npos);
}

TEST(Row, VerbsAreComparedWithTheSocketsStream) {
  const std::string table = rows_to_table({row("socket", "stream"), row("verbs", "write")});
  EXPECT_NE(table.find("0.50\n"), std::string::npos) << table;
}

}  // namespace
}  // namespace framewire
