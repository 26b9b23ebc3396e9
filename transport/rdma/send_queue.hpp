// The sending side of a queue pair: what is posted, and what of it is done.
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

/// Requests that are posted in one call: each call rings the device's bell once. With 1 MiB in each they are a frame of
/// 4K in four bytes a pixel, which is 32 of them and its announcement.
inline constexpr std::size_t max_in_post = 64;

/// Guarded by its owner's lock. Requests complete in the order in which they were posted, and only some are signalled:
/// a completion speaks for all before it.
class SendQueue {
 public:
  explicit SendQueue(const RdmaConnection& connection);

  /// How many requests can be posted now.
  [[nodiscard]] std::uint32_t room() const noexcept {
    return connection_.capabilities().send_depth - static_cast<std::uint32_t>(posted_ - completed_);
  }
  /// Requests posted, and completed as far as is known: request n is done once completed() > n, counted from 0.
  [[nodiscard]] std::uint64_t posted() const noexcept { return posted_; }
  [[nodiscard]] std::uint64_t completed() const noexcept { return completed_; }
  /// Whether a request is under way whose completion will be told, and the payload up to the end of the first one.
  [[nodiscard]] bool awaits_completion() const noexcept { return !signalled_.empty(); }
  [[nodiscard]] std::uint64_t awaited_bytes() const noexcept {
    return awaits_completion() ? signalled_.front().bytes_before - completed_bytes_ : 0;
  }

  /// Whether the device has finished nothing for too long. To be asked a few times a second at least.
  [[nodiscard]] bool is_stalled(std::int64_t now_ns) noexcept {
    return stall_.is_stalled(now_ns, completed_, awaits_completion(), awaited_bytes());
  }

  /// Posts all of them, chained here, in one call: at least one, at most room(). Signals one in every half queue, and
  /// those that the caller has marked. False when the device refuses: the queue pair is in error.
  bool post(std::span<ibv_send_wr> requests) noexcept;

  /// Posts an empty write, unless a signalled request is under way: a peer that is gone cannot acknowledge it. False
  /// when the device refuses.
  bool post_probe() noexcept;

  /// At the beginning of a link: over iWARP the end that dialled has to send something before the other one may. Does
  /// nothing elsewhere. False when the device refuses.
  bool send_first_message() noexcept;

  /// Takes in what has completed. Returns the first true fault, if there is one: everything after it is only flushed.
  std::optional<ibv_wc_status> poll() noexcept;

 private:
  struct Signalled {
    std::uint64_t end = 0;           // requests up to and with it
    std::uint64_t bytes_before = 0;  // their payload
  };

  void take_completed(std::uint64_t number) noexcept;

  const RdmaConnection& connection_;
  StallDetector stall_;
  FixedQueue<Signalled> signalled_;  // under way
  std::uint64_t posted_bytes_ = 0;
  std::uint64_t completed_bytes_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t last_signalled_ = 0;  // what posted_ was with the last one
};

/// The sentence for a fault of a request to `peer` ("the other end").
std::string describe_fault(ibv_wc_status status, const std::string& peer);
/// The sentence for a device that is_stalled().
std::string describe_stall(const std::string& peer);

}  // namespace framewire
