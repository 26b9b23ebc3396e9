// The send queue of a QP: which work requests (WR) are posted, and which of them are complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/fixed_queue.hpp"
#include "transport/rdma/connection.hpp"
#include "transport/rdma/stall_detector.hpp"

namespace framewire {

/// The most work requests in one ibv_post_send(); each call rings the doorbell once. A 4K frame with four bytes a pixel
/// needs 32 requests of 1 MiB and its announcement.
inline constexpr std::size_t max_in_post = 64;

/// Guarded by its owner's lock. Work requests complete in the order of posting, and only some are signalled: one
/// completion covers all requests before it.
class SendQueue {
 public:
  explicit SendQueue(const RdmaConnection& connection);

  /// How many requests can be posted now.
  [[nodiscard]] std::uint32_t room() const noexcept {
    return connection_.capabilities().send_depth - static_cast<std::uint32_t>(posted_ - completed_);
  }
  /// Work requests posted, and known to be complete: request n (counted from 0) is complete when completed() > n.
  [[nodiscard]] std::uint64_t posted() const noexcept { return posted_; }
  [[nodiscard]] std::uint64_t completed() const noexcept { return completed_; }
  /// awaits_completion(): a signalled request is in flight. awaited_bytes(): the payload up to the end of the first
  /// one.
  [[nodiscard]] bool awaits_completion() const noexcept { return !signalled_.empty(); }
  [[nodiscard]] std::uint64_t awaited_bytes() const noexcept {
    return awaits_completion() ? signalled_.front().bytes_before - completed_bytes_ : 0;
  }

  /// Whether the device has completed nothing for too long. Call it a few times a second at least.
  [[nodiscard]] bool is_stalled(std::int64_t now_ns) noexcept {
    return stall_.is_stalled(now_ns, completed_, awaits_completion(), awaited_bytes());
  }

  /// Chains and posts `requests` in one call: at least one, at most room(). Signals one in every half queue, and those
  /// that the caller has marked. False when the device refuses: the QP is in error.
  bool post(std::span<ibv_send_wr> requests) noexcept;

  /// Posts an empty write, unless a signalled request is in flight. A peer that is gone cannot acknowledge it. False
  /// when the device refuses.
  bool post_probe() noexcept;

  /// Call it when a link starts. Over iWARP the side that dialled must send before the other side may. Does nothing on
  /// other transports. False when the device refuses.
  bool send_first_message() noexcept;

  /// Polls the completions. Returns the first real fault, if there is one: the device only flushes the requests after
  /// it.
  std::optional<ibv_wc_status> poll() noexcept;

 private:
  struct Signalled {
    std::uint64_t end = 0;           // requests up to this one, inclusive
    std::uint64_t bytes_before = 0;  // payload of those requests
  };

  void take_completed(std::uint64_t number) noexcept;

  const RdmaConnection& connection_;
  StallDetector stall_;
  FixedQueue<Signalled> signalled_;  // in flight
  std::uint64_t posted_bytes_ = 0;
  std::uint64_t completed_bytes_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t last_signalled_ = 0;  // posted_ after the last signalled request
};

/// The error message for a failed request to `peer` ("the other end").
std::string describe_fault(ibv_wc_status status, const std::string& peer);
/// The error message for a device that is_stalled().
std::string describe_stall(const std::string& peer);

}  // namespace framewire
