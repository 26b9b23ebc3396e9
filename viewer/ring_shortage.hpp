// When a sender's ring is too small for frames that wait.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace framewire {

/// A ring in which frames cannot wait for as long as they should. A value.
struct RingShortage {
  std::uint32_t slots = 0;   // that it has
  std::uint32_t needed = 0;  // that would do, or the most that help
  bool would_do = true;      // else more would be needed than help
  std::int64_t allowed_ns = 0;
  std::int64_t wanted_ns = 0;
};

/// For how long frames may wait in a ring of this many slots, if `period_ns` passes from frame to frame: one slot is
/// for the frame that is drawn, and one for the next that arrives. Slots beyond `most_useful` do not help.
std::int64_t longest_wait_ns(std::uint32_t slots, std::uint32_t most_useful, std::int64_t period_ns) noexcept;

/// Nothing if frames may wait for `wanted_ns`, or if more slots would not help.
std::optional<RingShortage> find_ring_shortage(std::uint32_t slots, std::uint32_t most_useful, std::int64_t period_ns,
                                               std::int64_t wanted_ns) noexcept;

/// For the user: what it is, and what to do. `is_synchronised`: frames wait for those of other streams.
std::string describe(const RingShortage& shortage, bool is_synchronised);

}  // namespace framewire
