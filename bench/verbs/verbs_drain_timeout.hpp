// The timeout for the last messages of a row.
#pragma once

#include <cstdint>

#include "base/clock.hpp"

namespace framewire {

/// The client sends the number of messages when its device has received every acknowledgement. All messages have
/// arrived by then, so the server only needs to poll them. One thread.
class VerbsDrainTimeout {
 public:
  static constexpr std::int64_t timeout_ns = 5 * ns_per_s;

  /// Call it in every round. `is_told`: the client has sent the number. `has_moved`: a message has arrived in this
  /// round. The timeout starts when the client has sent the number, and again with every message after that; earlier
  /// messages do not count.
  [[nodiscard]] bool are_overdue(bool is_told, bool has_moved, std::int64_t now_ns) noexcept {
    if (!is_told || has_moved || since_ns_ == 0) {
      since_ns_ = is_told ? now_ns : 0;
    }
    return is_told && now_ns - since_ns_ > timeout_ns;
  }

 private:
  std::int64_t since_ns_ = 0;
};

}  // namespace framewire
