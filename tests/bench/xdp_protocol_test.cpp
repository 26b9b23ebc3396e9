#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "bench/protocol.hpp"
#include "bench/xdp/frame_rows.hpp"
#include "tests/bench/wrong_fields.hpp"

namespace framewire {
namespace {

using nlohmann::json;
using test::expect_every_wrong_field_refused;

RowPlan plan_of(std::uint64_t message_bytes) {
  RowPlan plan;
  plan.transport = xdp_transport;
  plan.operation = "stream";
  plan.message_bytes = message_bytes;
  plan.count = 7;
  plan.slots = max_frame_slots;
  plan.mode = XdpMode::native;
  plan.batch = 8;
  plan.wait = WaitMode::spin;
  plan.touches_payload = true;
  return plan;
}

const XdpEnd end{.mac = {std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0xab}, std::byte{0}, std::byte{1}},
                 .frame_bytes = 1496,
                 .row = 0xfffffffe,
                 .is_zero_copy = true};

TEST(XdpMessages, ComeBackAsTheyWent) {
  const RowPlan row = read_xdp_message(xdp_message(plan_of(4096)));
  EXPECT_EQ(row.transport, xdp_transport);
  EXPECT_EQ(row.operation, "stream");
  EXPECT_EQ(row.message_bytes, 4096U);
  EXPECT_EQ(row.slots, max_frame_slots);
  EXPECT_EQ(row.mode, XdpMode::native);
  EXPECT_EQ(row.batch, 8U);
  EXPECT_EQ(row.wait, WaitMode::spin);
  EXPECT_TRUE(row.touches_payload);
  EXPECT_TRUE(row.is_remote);
  EXPECT_EQ(row.count, 0U) << "how many is the client's business";
  const XdpEnd read = read_xdp_end_message(xdp_end_message(end));
  EXPECT_EQ(read.mac, end.mac);
  EXPECT_EQ(read.frame_bytes, end.frame_bytes);
  EXPECT_EQ(read.row, end.row);
  EXPECT_TRUE(read.is_zero_copy);
}

TEST(XdpMessages, EveryWrongFieldIsRefused) {
  expect_every_wrong_field_refused(xdp_message(plan_of(4096)), [](const json& message) { read_xdp_message(message); });
  expect_every_wrong_field_refused(xdp_end_message(end), [](const json& message) { read_xdp_end_message(message); });
}

TEST(XdpMessages, OutOfRangeIsRefused) {
  const auto with = [](json message, const char* field, const json& value) {
    message[field] = value;
    return message;
  };
  for (const auto& [field, value] :
       std::vector<std::pair<const char*, json>>{{"message_bytes", 0},
                                                 {"message_bytes", (std::uint64_t{1} << 30) + 1},
                                                 {"slots", max_frame_slots + 1},
                                                 {"batch", 0},
                                                 {"batch", max_frame_slots + 1},
                                                 {"mode", "offload"},
                                                 {"operation", "read"}}) {
    EXPECT_THROW(read_xdp_message(with(xdp_message(plan_of(64)), field, value)), Error) << field;
  }
  for (const auto& [field, value] : std::vector<std::pair<const char*, json>>{{"frame_bytes", 24},
                                                                              {"frame_bytes", 65536},
                                                                              {"mac", "0200000000"},
                                                                              {"mac", "02000000000x"},
                                                                              {"row", std::uint64_t{1} << 32}}) {
    EXPECT_THROW(read_xdp_end_message(with(xdp_end_message(end), field, value)), Error) << field;
  }
}

}  // namespace
}  // namespace framewire
