// The seed of a test with random choices.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace framewire::test {

/// The environment's FRAMEWIRE_SEED, or else a random seed. Prints it, so that the run can be repeated.
inline std::uint64_t chosen_seed() {
  const char* text = std::getenv("FRAMEWIRE_SEED");
  const std::uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
  std::printf("FRAMEWIRE_SEED=%llu repeats this run\n", static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace framewire::test
