// When a send queue has stood still for longer than any honest device would leave it.
#pragma once

#include <cstdint>

namespace framewire {

/// A device gives up by itself on a peer that does not answer, and says so by a completion. This is for one that
/// forgets: Soft-RoCE of Linux 6.1 has left reads under way for minutes, without an answer and without an error, where
/// one packet of a hundred was lost. Asked a few times a second, always by the same thread.
class StallDetector {
 public:
  /// `peer_timeout_ns` is what the device was told to wait for its peer; it may take twice as long (InfiniBand
  /// specification, 9.7.6.1.3, and connection.cpp).
  explicit StallDetector(std::int64_t peer_timeout_ns) noexcept;

  /// Whether the next completion is overdue: of a request that has been posted after `completed` others, with
  /// `awaited_bytes` up to its end. `awaits`: there is such a request.
  bool is_stalled(std::int64_t now_ns, std::uint64_t completed, bool awaits, std::uint64_t awaited_bytes) noexcept;

 private:
  std::int64_t timeout_ns_;
  std::int64_t progress_ns_ = 0;
  std::uint64_t completed_ = 0;
};

}  // namespace framewire
