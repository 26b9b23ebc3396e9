// Detects a send queue that makes no progress although the device should long have reported an error.
#pragma once

#include <cstdint>

namespace framewire {

/// A device normally gives up on a silent peer and reports this by a completion. Some do not: Soft-RoCE of Linux 6.1
/// left READs in flight for minutes, without answer or error, when one packet of a hundred was lost. Called a few times
/// a second, always by the same thread.
class StallDetector {
 public:
  /// `peer_timeout_ns` is the timeout that the device was given; it may take twice as long (InfiniBand specification,
  /// 9.7.6.1.3, and connection.cpp).
  explicit StallDetector(std::int64_t peer_timeout_ns) noexcept;

  /// Whether the next completion is overdue. `completed`: requests that are complete. `awaits`: a signalled request is
  /// in flight, with `awaited_bytes` of payload up to its end.
  bool is_stalled(std::int64_t now_ns, std::uint64_t completed, bool awaits, std::uint64_t awaited_bytes) noexcept;

 private:
  std::int64_t timeout_ns_;
  std::int64_t progress_ns_ = 0;
  std::uint64_t completed_ = 0;
};

}  // namespace framewire
