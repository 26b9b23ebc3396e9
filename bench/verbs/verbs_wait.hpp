// How one end of a raw measurement waits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/adaptive_spin.hpp"
#include "transport/rdma/connection.hpp"

namespace framewire {

/// How an end hears of the world beside its queue pair.
struct VerbsControl {
  int descriptor = -1;  // readable: look() has something to see
  /// Called a few times a second, and when the descriptor is readable. Throws Error to end the measurement. The
  /// server's returns how many messages there were in all, once the client has said so.
  std::function<std::optional<std::uint64_t>()> poll_control;
};

/// Used by the one thread of its end. Its functions throw what look() throws.
class VerbsWait {
 public:
  /// The connection outlives it.
  VerbsWait(RdmaConnection& connection, WaitMode mode, const VerbsControl& control);

  /// To be called in every round with its time.
  void poll_control_if_due(std::int64_t now_ns);
  /// There was something to do.
  void found(std::int64_t now_ns) noexcept;
  /// There was nothing: returns when there may be. The completion queues are to be looked at again each time.
  void idle(std::int64_t now_ns);
  /// The same for an end whose device tells it nothing, or that has to wait until `due_ns`.
  void sleep(std::int64_t due_ns);

  [[nodiscard]] const std::optional<std::uint64_t>& total() const noexcept { return total_; }

 private:
  void wait_for_either(std::int64_t deadline_ns, int completions);

  RdmaConnection& connection_;
  const WaitMode mode_;
  const VerbsControl& control_;
  AdaptiveSpin spin_;
  std::int64_t next_poll_ns_ = 0;
  bool is_armed_ = false;
  std::optional<std::uint64_t> total_;
};

}  // namespace framewire
