// The sending side of a queue pair: what is posted, and what of it is done.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/rdma/connection.hpp"

namespace framewire {

/// Guarded by its owner's lock. Requests complete in the order in which they were posted, and only some are signalled:
/// a completion speaks for all before it.
class SendQueue {
 public:
  explicit SendQueue(const RdmaConnection& connection);

  /// How many requests can be posted now.
  [[nodiscard]] std::uint32_t room() const noexcept {
    return connection_.grants().send_depth - static_cast<std::uint32_t>(posted_ - completed_);
  }
  /// Requests posted, and completed as far as is known: request n is done once completed() > n, counted from 0.
  [[nodiscard]] std::uint64_t posted() const noexcept { return posted_; }
  [[nodiscard]] std::uint64_t completed() const noexcept { return completed_; }
  /// The payload of those that are not completed.
  [[nodiscard]] std::uint64_t unfinished_bytes() const noexcept { return posted_bytes_ - bytes_before(completed_); }

  /// Posts all of them, chained here, in one call: at least one, at most room(). Signals one in every half queue, and
  /// those that the caller has marked. False when the device refuses: the queue pair is in error.
  bool post(std::span<ibv_send_wr> requests) noexcept;

  /// Posts an empty write, unless a signalled request is under way: a peer that is gone cannot acknowledge it.
  void post_probe() noexcept;

  /// At the beginning of a link: over iWARP the end that dialled has to send something before the other one may. Does
  /// nothing elsewhere.
  void speak_first() noexcept;

  /// Takes in what has completed. Returns the first true fault, if there is one: everything after it is only flushed.
  std::optional<ibv_wc_status> poll() noexcept;

 private:
  /// Of all requests up to number n, the last that was posted or completed among them.
  [[nodiscard]] std::uint64_t bytes_before(std::uint64_t n) const noexcept {
    return bytes_before_[n % bytes_before_.size()];
  }

  const RdmaConnection& connection_;
  std::vector<std::uint64_t> bytes_before_;  // from the last completed request to the last posted one, around
  std::uint64_t posted_bytes_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t signalled_ = 0;  // the last signalled one's number, plus 1
};

/// The sentence for a fault of a request to `peer` ("the viewer").
std::string describe_fault(ibv_wc_status status, const std::string& peer);

}  // namespace framewire
