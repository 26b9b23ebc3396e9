// What the rdma link writes on the wire besides frame headers; needs no device.
#include <gtest/gtest.h>

#include <array>

#include "transport/rdma/cell.hpp"
#include "transport/rdma/immediate.hpp"
#include "transport/session/rdma_hello.hpp"

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
  const RdmaPrivateData bytes = encode_rdma_hello(hello());
  EXPECT_EQ(bytes.size(), 56U) << "what rdma_cm leaves";
  const auto back = decode_rdma_hello(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->connection, hello().connection);
  EXPECT_EQ(back->proof, hello().proof);
}

TEST(RdmaHello, MayBePaddedByTheConnectionManager) {
  std::array<std::byte, 196> padded{};
  std::ranges::copy(encode_rdma_hello(hello()), padded.begin());
  EXPECT_TRUE(decode_rdma_hello(padded));
}

TEST(RdmaHello, IsNothingElse) {
  RdmaPrivateData bytes = encode_rdma_hello(hello());
  EXPECT_FALSE(decode_rdma_hello(std::span(bytes).first(55)));
  EXPECT_FALSE(decode_rdma_hello({}));
  for (const std::size_t offset : {0U, 3U, 5U, 7U}) {
    RdmaPrivateData wrong = bytes;
    wrong[offset] ^= std::byte{0x40};
    EXPECT_FALSE(decode_rdma_hello(wrong)) << offset;
  }
}

}  // namespace
}  // namespace framewire::test
