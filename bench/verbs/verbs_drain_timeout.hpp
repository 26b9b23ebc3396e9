// How long the last messages of a row may take.
#pragma once

#include <cstdint>

#include "base/clock.hpp"

namespace framewire {

/// The client says how many there were when its device has had every acknowledgement: all of them have come by then,
/// and the server has only to find them. One thread.
class VerbsDrainTimeout {
 public:
  static constexpr std::int64_t timeout_ns = 5 * ns_per_s;

  /// To be asked in every round, with whether the client has said so and whether something has come. The timeout
  /// begins with the client's word, and anew with every message: how long ago one came before is no matter.
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
