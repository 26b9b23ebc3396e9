// How long something takes, for the programs of scripts/gpu-check.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.hpp"

namespace framewire {

/// Median time of 31 runs of `run`, after five that do not count, milliseconds.
template <typename Run>
double median_ms(Run run) {
  constexpr std::size_t warm_up = 5;
  constexpr std::size_t runs = 31;
  std::vector<std::int64_t> times_ns;
  for (std::size_t i = 0; i < warm_up + runs; ++i) {
    const std::int64_t begun_ns = monotonic_ns();
    run();
    if (i >= warm_up) {
      times_ns.push_back(monotonic_ns() - begun_ns);
    }
  }
  std::ranges::nth_element(times_ns, times_ns.begin() + runs / 2);
  return static_cast<double>(times_ns[runs / 2]) / 1e6;
}

}  // namespace framewire
