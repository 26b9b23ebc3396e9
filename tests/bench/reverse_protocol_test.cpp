#include "bench/protocol.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "tests/bench/wrong_fields.hpp"

namespace framewire {
namespace {

using nlohmann::json;

const RowPlan plan{.transport = "tcp",
                   .operation = "latency",
                   .message_bytes = 4096,
                   .count = 7,
                   .duration_ns = 3 * ns_per_s,
                   .slots = 16,
                   .rate_per_s = 50,
                   .wait = WaitMode::spin,
                   .touches_payload = true,
                   .is_reverse = true};

TEST(ReverseMessage, ComesBackAsItWent) {
  const RowPlan row = read_reverse_message(reverse_message(plan));
  EXPECT_EQ(row.operation, "latency");
  EXPECT_EQ(row.message_bytes, 4096U);
  EXPECT_EQ(row.count, 7U);
  EXPECT_EQ(row.duration_ns, 3 * ns_per_s);
  EXPECT_EQ(row.slots, 16U);
  EXPECT_EQ(row.rate_per_s, 50);
  EXPECT_EQ(row.wait, WaitMode::spin);
  EXPECT_TRUE(row.touches_payload);
  EXPECT_TRUE(row.is_reverse);
}

TEST(ReverseMessage, EveryWrongFieldIsRefused) {
  test::expect_every_wrong_field_refused(reverse_message(plan),
                                         [](const json& message) { read_reverse_message(message); });
}

/// An authenticated peer must not make this end spend unbounded memory or time.
TEST(ReverseMessage, WhatWouldTakeTooMuchIsRefused) {
  const auto changed = [](const json& fields) {
    json message = reverse_message(plan);
    message.update(fields);
    return json::parse(message.dump());  // as it arrives: unsigned numbers
  };
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  EXPECT_NO_THROW(read_reverse_message(changed({{"message_bytes", gib}, {"slots", 4}})));
  EXPECT_NO_THROW(read_reverse_message(changed({{"count", 0}})));
  EXPECT_NO_THROW(read_reverse_message(changed({{"duration_ns", 0}})));
  for (const json& wrong :
       {json::object({{"message_bytes", gib}, {"slots", 5}}), json::object({{"message_bytes", gib + 1}}),
        json::object({{"message_bytes", UINT64_MAX / 2}}), json::object({{"message_bytes", 0}}),
        json::object({{"slots", 0}}), json::object({{"slots", 65}}), json::object({{"count", 0}, {"duration_ns", 0}}),
        json::object({{"duration_ns", UINT64_MAX}}), json::object({{"rate_per_s", 1'000'001}}),
        json::object({{"operation", "write"}}), json::object({{"wait", "for ever"}})}) {
    EXPECT_THROW(read_reverse_message(changed(wrong)), Error) << wrong;
  }
}

}  // namespace
}  // namespace framewire
