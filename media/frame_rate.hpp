// Frame rates as fractions, and the times of frames without drift.
#pragma once

#include <cstdint>

#include "frame/frame_layout.hpp"

namespace framewire {

/// 60 -> 60/1, 29.97 -> 30000/1001, 12.5 -> 12500/1000. For rates up to 1,000,000; 0 and less become 0/1 (unknown).
Rational rational_rate(double frames_per_s) noexcept;

/// When frame `index` of a stream is due, from the start of the stream: index / rate, rounded down. `rate` is not 0.
std::int64_t frame_time_ns(Rational rate, std::uint64_t index) noexcept;

}  // namespace framewire
