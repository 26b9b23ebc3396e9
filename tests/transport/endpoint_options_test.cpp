#include "transport/endpoint_options.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>

namespace framewire {
namespace {

/// Makes the compiler keep what was written to the memory.
void keep(void* memory) noexcept {
  asm volatile("" : : "r"(memory) : "memory");
}

TEST(EndpointOptions, LeaveNoKeyInMemory) {
  alignas(EndpointOptions) std::array<std::byte, sizeof(EndpointOptions)> memory{};
  std::array<std::byte, 32> key{};
  key.fill(std::byte{0x5a});
  auto* options = std::construct_at(reinterpret_cast<EndpointOptions*>(memory.data()));
  std::ranges::copy(key, options->one_time_key.emplace().bytes().begin());
  keep(memory.data());
  const EndpointOptions copy = *options;
  EXPECT_NE(std::search(memory.begin(), memory.end(), key.begin(), key.end()), memory.end());
  std::destroy_at(options);
  keep(memory.data());
  EXPECT_EQ(std::search(memory.begin(), memory.end(), key.begin(), key.end()), memory.end());
  EXPECT_TRUE(std::ranges::equal(copy.one_time_key->bytes(), key)) << "a copy is wiped by itself";
}

}  // namespace
}  // namespace framewire
