// Computes frame times without drift. Rates are fractions: rational_rate() of frame/frame_layout.hpp makes them.
#pragma once

#include <cstdint>

#include "frame/frame_layout.hpp"

namespace framewire {

/// When frame `index` of a stream is due, from the start of the stream: index / rate, rounded down; at most INT64_MAX.
/// `rate` is not 0.
std::int64_t frame_time_ns(Rational rate, std::uint64_t index) noexcept;

}  // namespace framewire
