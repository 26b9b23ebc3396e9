#include "transport/rdma/memory_access.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace framewire {
namespace {

constexpr RingAccess ring{.payload_address = UINT64_MAX,
                          .payload_key = UINT32_MAX,
                          .cells_address = 1,
                          .cells_key = 2,
                          .cells_per_slot = 3,
                          .receive_depth = 4};

TEST(MemoryAccess, ComesAsItWasDescribed) {
  const auto got = ring_access_from(describe(ring));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->payload_address, UINT64_MAX);
  EXPECT_EQ(got->payload_key, UINT32_MAX);
  EXPECT_EQ(got->cells_address, 1U);
  EXPECT_EQ(got->cells_key, 2U);
  EXPECT_EQ(got->cells_per_slot, 3U);
  EXPECT_EQ(got->receive_depth, 4U);
  const auto pool = pool_access_from(describe(
      PoolAccess{.payload_address = 5, .payload_key = 6, .directory_address = 7, .directory_key = 8, .slots = 9}));
  ASSERT_TRUE(pool);
  EXPECT_EQ(pool->payload_address, 5U);
  EXPECT_EQ(pool->payload_key, 6U);
  EXPECT_EQ(pool->directory_address, 7U);
  EXPECT_EQ(pool->directory_key, 8U);
  EXPECT_EQ(pool->slots, 9U);
}

/// A peer may send any text. An invalid description gives nothing and never throws.
TEST(MemoryAccess, IsNothingWhereAFieldIsMissingOrWrong) {
  for (const char* wrong : {"", "{", "[]", "null", "7", "\"text\"", "{}", "\xff"}) {
    EXPECT_FALSE(ring_access_from(wrong)) << wrong;
    EXPECT_FALSE(pool_access_from(wrong)) << wrong;
  }
  const std::string good = describe(ring);
  for (const char* field :
       {"payload_address", "payload_key", "cells_address", "cells_key", "cells_per_slot", "receive_depth"}) {
    const std::size_t value = good.find(':', good.find("\"" + std::string(field) + "\"")) + 1;
    const std::size_t end = good.find_first_of(",}", value);
    for (const char* other : {"-1", "1.5", "\"1\"", "null", "[1]", "18446744073709551616"}) {
      std::string changed = good;
      changed.replace(value, end - value, other);
      EXPECT_FALSE(ring_access_from(changed)) << changed;
    }
  }
  std::string too_large = good;
  too_large.replace(too_large.find("4294967295"), 10, "4294967296");
  EXPECT_FALSE(ring_access_from(too_large)) << too_large;
  EXPECT_FALSE(ring_access_from(describe(PoolAccess{})));
}

}  // namespace
}  // namespace framewire
