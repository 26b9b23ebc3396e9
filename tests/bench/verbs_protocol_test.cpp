#include "bench/protocol.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "tests/bench/wrong_fields.hpp"
#include "transport/control/hex.hpp"

namespace framewire {
namespace {

using nlohmann::json;
using test::expect_every_wrong_field_refused;

const VerbsPlan plan{.operation = VerbsOperation::write_imm,
                     .message_bytes = 4096,
                     .slots = 16,
                     .wait = WaitMode::spin,
                     .touches_payload = true,
                     .count = 7};

TEST(VerbsProtocol, ComeBackAsTheyWent) {
  const VerbsPlan row = read_row_message(verbs_row_message(plan));
  EXPECT_EQ(row.operation, VerbsOperation::write_imm);
  EXPECT_EQ(row.message_bytes, 4096U);
  EXPECT_EQ(row.slots, 16U);
  EXPECT_EQ(row.wait, WaitMode::spin);
  EXPECT_TRUE(row.touches_payload);
  EXPECT_EQ(row.count, 0U) << "how many is the client's business";
  const VerbsConnect connect = read_connect_message(verbs_connect_message(
      {.session = random_session_id(), .token = std::string(64, 'a'), .listener = R"({"port":5290})"}));
  EXPECT_EQ(connect.token, std::string(64, 'a'));
  EXPECT_EQ(connect.listener, R"({"port":5290})");
  const VerbsRemoteMemory remote_memory = read_remote_memory_message(
      remote_memory_message({.address = UINT64_MAX, .key = UINT32_MAX, .chunk_bytes = std::uint64_t{1} << 20}));
  EXPECT_EQ(remote_memory.address, UINT64_MAX);
  EXPECT_EQ(remote_memory.key, UINT32_MAX);
  EXPECT_EQ(remote_memory.chunk_bytes, std::uint64_t{1} << 20);
  EXPECT_EQ(read_end_message(end_message(12)), 12U);
  EXPECT_EQ(json::parse(read_result_message(result_message(R"({"count":3})"))), json({{"count", 3}}));
}

TEST(VerbsProtocol, EveryWrongFieldIsRefused) {
  expect_every_wrong_field_refused(verbs_row_message(plan), [](const json& message) { read_row_message(message); });
  expect_every_wrong_field_refused(verbs_connect_message({.session = {}, .token = "00", .listener = {}}),
                                   [](const json& message) {
                                     // The caller checks that the token is valid.
                                     Token::from_hex(read_connect_message(message).token + std::string(62, '0'));
                                   });
  expect_every_wrong_field_refused(remote_memory_message({.address = 1, .key = 1, .chunk_bytes = 4096}),
                                   [](const json& message) { read_remote_memory_message(message); });
  expect_every_wrong_field_refused(end_message(1), [](const json& message) { read_end_message(message); });
}

/// An authenticated peer must not make this end allocate unbounded memory.
TEST(VerbsProtocol, WhatWouldTakeTooMuchMemoryIsRefused) {
  const auto row = [](std::uint64_t message_bytes, std::uint64_t slots) {
    json message = verbs_row_message(plan);
    message["message_bytes"] = message_bytes;
    message["slots"] = slots;
    return message;
  };
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  EXPECT_NO_THROW(read_row_message(row(gib, 4)));
  EXPECT_NO_THROW(read_row_message(row(1, 64)));
  EXPECT_THROW(read_row_message(row(gib, 5)), Error);
  EXPECT_THROW(read_row_message(row(gib + 1, 1)), Error);
  EXPECT_THROW(read_row_message(row(0, 4)), Error);
  EXPECT_THROW(read_row_message(row(64, 0)), Error);
  EXPECT_THROW(read_row_message(row(64, 65)), Error);
  EXPECT_THROW(read_row_message(row(UINT64_MAX, UINT64_MAX)), Error);
  EXPECT_THROW(read_row_message(row(UINT64_MAX / 2, 2)), Error);
  json remote_memory = remote_memory_message({.address = 1, .key = 1, .chunk_bytes = 4096});
  remote_memory["chunk_bytes"] = 0;
  EXPECT_THROW(read_remote_memory_message(remote_memory), Error);
}

TEST(VerbsProtocol, WhatTheServerSaysInsteadIsHeard) {
  for (const json& instead : {fault_message("no memory"), json{{"type", "refused"}, {"text", "busy"}}}) {
    EXPECT_THROW(read_connect_message(instead), Error);
    EXPECT_THROW(read_remote_memory_message(instead), Error);
    EXPECT_THROW(read_result_message(instead), Error);
  }
  try {
    throw_if_fault(fault_message("no memory"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the server: no memory");
    EXPECT_EQ(error.status(), ExitStatus::failed);
  }
}

}  // namespace
}  // namespace framewire
