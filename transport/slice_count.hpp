// How many slices a frame is sent in.
#pragma once

#include <algorithm>
#include <cstdint>

#include "frame/slices.hpp"

namespace framewire {

/// Limit of --slices. A frame of so many takes a quarter of the cells of a local link.
inline constexpr std::uint16_t max_slices_of_source = 64;

/// `wanted`, or one for every 4 MiB if that is 0; fewer if they would be smaller than a page.
constexpr std::uint16_t slices_of_frame(std::uint16_t wanted, std::uint64_t payload_bytes) noexcept {
  constexpr std::uint64_t slice_bytes = std::uint64_t{4} << 20;
  const std::uint64_t slices = wanted != 0 ? wanted : (payload_bytes + slice_bytes - 1) / slice_bytes;
  return possible_slices(payload_bytes,
                         static_cast<std::uint16_t>(std::min<std::uint64_t>(slices, max_slices_of_source)));
}

}  // namespace framewire
