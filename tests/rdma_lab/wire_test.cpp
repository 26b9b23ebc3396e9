// What the rdma link writes on the wire besides frame headers. Needs no device.
#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include "transport/control/data_hello.hpp"
#include "transport/rdma/queue_sizes.hpp"
#include "transport/rdma/wire.hpp"

namespace framewire::test {
namespace {

TEST(Immediate, CarriesEpochSlotAndSlice) {
  for (const Immediate immediate : {Immediate{}, Immediate{.epoch = 1, .slot = 2, .slice = 3},
                                    Immediate{.epoch = 16383, .slot = 1023, .slice = 255}}) {
    EXPECT_EQ(decode_immediate(encode(immediate)), immediate);
  }
  EXPECT_EQ(encode({.epoch = 1, .slot = 2, .slice = 3}), 0x00040203U) << "as docs/wire.md has it";
}

TEST(Immediate, KeepsTheLowBitsOfAnEpoch) {
  EXPECT_EQ(decode_immediate(encode({.epoch = 16384 + 5, .slot = 7})).epoch, 5U);
  EXPECT_EQ(low_epoch_bits(16384 + 5), 5U);
}

TEST(Cells, AreEnoughForEverySliceAndNotTooMany) {
  EXPECT_EQ(cells_per_slot_for(1), max_slices);
  EXPECT_EQ(cells_per_slot_for(3), max_slices);
  EXPECT_EQ(cells_per_slot_for(64), 64U);
  EXPECT_EQ(cells_per_slot_for(max_pool_slots), 16U);
}

DataHello hello() {
  DataHello made;
  made.connection.link = LinkKind::rdma;
  made.connection.index = 3;
  made.connection.session.fill(std::byte{0x11});
  made.proof.fill(std::byte{0x22});
  return made;
}

TEST(RdmaHello, FitsThePrivateDataAndComesBack) {
  const ConnectHello bytes = encode_connect_hello(hello());
  EXPECT_EQ(bytes.size(), 56U) << "what rdma_cm leaves";
  const auto back = decode_connect_hello(bytes, LinkKind::rdma);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->connection, hello().connection);
  EXPECT_EQ(back->proof, hello().proof);
}

TEST(RdmaHello, MayBePaddedByTheConnectionManager) {
  std::array<std::byte, 196> padded{};
  std::ranges::copy(encode_connect_hello(hello()), padded.begin());
  EXPECT_TRUE(decode_connect_hello(padded, LinkKind::rdma));
}

TEST(RdmaHello, IsNothingElse) {
  ConnectHello bytes = encode_connect_hello(hello());
  EXPECT_FALSE(decode_connect_hello(std::span(bytes).first(55), LinkKind::rdma));
  EXPECT_FALSE(decode_connect_hello({}, LinkKind::rdma));
  for (const std::size_t offset : {0U, 3U, 5U, 7U}) {
    ConnectHello wrong = bytes;
    wrong[offset] ^= std::byte{0x40};
    EXPECT_FALSE(decode_connect_hello(wrong, LinkKind::rdma)) << offset;
  }
}

/// A device that accepts at most `max_inline` bytes of inline data and queues of at most `max_depth` entries.
struct PoorMaker {
  std::uint32_t max_depth;
  std::uint32_t max_inline;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> asked{};

  MakeQueuePair make() {
    return [this](ibv_qp_cap& limits) {
      asked.emplace_back(limits.max_send_wr, limits.max_inline_data);
      EXPECT_EQ(limits.max_recv_wr, limits.max_send_wr);
      limits.max_send_wr += 7;  // more than requested
      return limits.max_recv_wr <= max_depth && limits.max_inline_data <= max_inline;
    };
  }
};

TEST(QueueSizes, AreThoseRequestedWhereTheDeviceHasThem) {
  PoorMaker device{.max_depth = 4096, .max_inline = 4096};
  const auto granted = negotiate_queue_pair({}, 16384, 1 << 20, device.make());
  ASSERT_TRUE(granted);
  EXPECT_EQ(granted->max_send_wr, 512U) << "no deeper than the completion queue";
  EXPECT_EQ(granted->max_inline_data, 512U);
  EXPECT_EQ(device.asked.size(), 1U);
}

TEST(QueueSizes, AreNoDeeperThanTheDeviceSays) {
  for (const auto& [requests, completions] : {std::pair(10, 9), std::pair(9, 10)}) {
    PoorMaker device{.max_depth = 4096, .max_inline = 4096};
    EXPECT_EQ(negotiate_queue_pair({}, requests, completions, device.make())->max_send_wr, 9U);
  }
  PoorMaker device{.max_depth = 4096, .max_inline = 4096};
  EXPECT_EQ(negotiate_queue_pair({}, 0, -1, device.make())->max_send_wr, 1U) << "a device that says nonsense";
}

/// For each depth, the amount of inline data is reduced first.
TEST(QueueSizes, AreHalvedUntilTheDeviceTakesThem) {
  PoorMaker device{.max_depth = 200, .max_inline = 100};
  const auto granted = negotiate_queue_pair({}, 16384, 16384, device.make());
  ASSERT_TRUE(granted);
  EXPECT_EQ(granted->max_recv_wr, 128U);
  EXPECT_EQ(granted->max_inline_data, 64U);
  EXPECT_EQ(device.asked.back(), std::pair(128U, 64U));
}

TEST(QueueSizes, AreNotHadFromADeviceThatRefusesTheLeast) {
  PoorMaker device{.max_depth = 0, .max_inline = 0};
  EXPECT_FALSE(negotiate_queue_pair({}, 16384, 16384, device.make()));
  EXPECT_EQ(device.asked.back(), std::pair(16U, 0U));
}

}  // namespace
}  // namespace framewire::test
