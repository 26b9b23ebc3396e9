#include "bench/verbs/verbs_memory.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.hpp"
#include "bench/verbs/verbs_plan.hpp"

namespace framewire {
namespace {

TEST(VerbsPayload, OneThatNeverMovedIsFoundOut) {
  for (const std::size_t size : {1U, 7U, 8U, 9U, 64U, 4096U}) {
    const std::vector<std::byte> untouched(size);
    EXPECT_FALSE(is_stamped(untouched, 0)) << size;
    std::vector<std::byte> message(size);
    fill_verbs_payload(message, verbs_fill_byte(41));
    stamp_verbs_payload(message, 41);
    EXPECT_TRUE(is_stamped(message, 41) && is_filled(message, verbs_fill_byte(41))) << size;
    EXPECT_FALSE(is_stamped(message, 42)) << size;
    EXPECT_TRUE(size <= verbs_stamp_bytes || !is_filled(message, verbs_fill_byte(42))) << size;
  }
}

TEST(VerbsPayload, EveryByteCounts) {
  std::vector<std::byte> message(300);
  fill_verbs_payload(message, verbs_fill_byte(3));
  stamp_verbs_payload(message, 3);
  for (std::byte& byte : message) {
    const std::byte before = byte;
    byte ^= std::byte{0x10};
    EXPECT_FALSE(is_stamped(message, 3) && is_filled(message, verbs_fill_byte(3)));
    byte = before;
  }
  EXPECT_TRUE(is_stamped(message, 3) && is_filled(message, verbs_fill_byte(3)));
}

TEST(VerbsPayload, NoFillIsZero) {
  for (std::uint64_t number = 0; number < 1000; ++number) {
    EXPECT_NE(verbs_fill_byte(number), std::byte{0});
    EXPECT_NE(verbs_fill_byte(number), verbs_fill_byte(number + 1));
  }
}

TEST(VerbsPlan, NamesComeBack) {
  for (const VerbsOperation operation : {VerbsOperation::send, VerbsOperation::write, VerbsOperation::write_imm,
                                         VerbsOperation::read, VerbsOperation::latency}) {
    EXPECT_EQ(verbs_operation_from_name(name(operation)), operation);
  }
  EXPECT_EQ(verbs_operation_from_name("writ"), std::nullopt);
  EXPECT_THROW(require_possible({.message_bytes = 1, .slots = max_verbs_slots + 1}), Error);
}

}  // namespace
}  // namespace framewire
