// How one side of a verbs measurement waits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/adaptive_spin.hpp"
#include "base/clock.hpp"
#include "transport/rdma/work_requests.hpp"

namespace framewire {

/// How one side hears from its control channel.
struct VerbsControl {
  int descriptor = -1;  // readable when poll_control() has something to read
  /// Called a few times a second, and when the descriptor is readable. Throws Error to end the measurement. On the
  /// server it returns the total number of messages once the client has sent it.
  std::function<std::optional<std::uint64_t>()> poll_control;
};

/// Used by one thread. Its functions throw what poll_control() throws.
class VerbsWait {
 public:
  /// The connection outlives it.
  VerbsWait(ConnectedQueuePair& connection, WaitMode mode, const VerbsControl& control);

  /// Call it in every round with the round's time.
  void poll_control_if_due(std::int64_t now_ns);
  /// The round found something to do.
  void found(std::int64_t now_ns) noexcept;
  /// The round found nothing: returns when there may be something. Poll the completion queues again after each call.
  void idle(std::int64_t now_ns);
  /// The same for a side whose device reports nothing, or that must wait until `due_ns`.
  void sleep(std::int64_t due_ns);

  [[nodiscard]] const std::optional<std::uint64_t>& total() const noexcept { return total_; }

 private:
  void wait_for_either(std::int64_t deadline_ns, int completions);

  ConnectedQueuePair& connection_;
  const WaitMode mode_;
  const VerbsControl& control_;
  AdaptiveSpin spin_;
  std::int64_t next_poll_ns_ = 0;
  bool is_armed_ = false;
  std::optional<std::uint64_t> total_;
};

/// The timeout for the last messages of a row. The client sends the number of messages when its device has received
/// every acknowledgement. All messages have arrived by then, so the server only needs to poll them. One thread.
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
