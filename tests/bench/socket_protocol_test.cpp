#include "bench/protocol.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "tests/bench/wrong_fields.hpp"

namespace framewire {
namespace {

using nlohmann::json;
using test::expect_every_wrong_field_refused;

RowPlan plan_of(std::uint64_t message_bytes, std::uint32_t slots) {
  RowPlan plan;
  plan.transport = socket_transport;
  plan.operation = "latency";
  plan.message_bytes = message_bytes;
  plan.count = 7;
  plan.slots = slots;
  plan.touches_payload = true;
  return plan;
}

TEST(SocketMessages, ComeBackAsTheyWent) {
  const RowPlan row = read_socket_message(socket_message(plan_of(4096, 16)));
  EXPECT_EQ(row.transport, socket_transport);
  EXPECT_EQ(row.operation, "latency");
  EXPECT_EQ(row.message_bytes, 4096U);
  EXPECT_EQ(row.slots, 16U);
  EXPECT_TRUE(row.touches_payload);
  EXPECT_TRUE(row.is_remote);
  EXPECT_EQ(row.count, 0U) << "how many is the client's business";
  const SessionId session = random_session_id();
  const SocketConnect connect =
      read_socket_connect_message(socket_connect_message({.session = session, .token = std::string(64, 'a')}));
  EXPECT_EQ(connect.session, session);
  EXPECT_EQ(connect.token, std::string(64, 'a'));
}

TEST(SocketMessages, EveryWrongFieldIsRefused) {
  expect_every_wrong_field_refused(socket_message(plan_of(4096, 16)),
                                   [](const json& message) { read_socket_message(message); });
  expect_every_wrong_field_refused(socket_connect_message({.session = {}, .token = "00"}), [](const json& message) {
    // The caller checks that the token is valid.
    Token::from_hex(read_socket_connect_message(message).token + std::string(62, '0'));
  });
}

TEST(SocketMessages, WhatWouldTakeTooMuchMemoryIsRefused) {
  EXPECT_NO_THROW(read_socket_message(socket_message(plan_of(std::uint64_t{1} << 30, 4))));
  EXPECT_THROW(read_socket_message(socket_message(plan_of(std::uint64_t{1} << 30, 5))), Error);
  EXPECT_THROW(read_socket_message(socket_message(plan_of((std::uint64_t{1} << 30) + 1, 1))), Error);
  EXPECT_THROW(read_socket_message(socket_message(plan_of(64, 65))), Error);
  json other = socket_message(plan_of(64, 1));
  other["operation"] = "read";
  EXPECT_THROW(read_socket_message(other), Error);
}

}  // namespace
}  // namespace framewire
