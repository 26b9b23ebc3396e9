// The sending side of a queue pair: what is posted, and what of it is done.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "transport/rdma/connection.hpp"

namespace framewire {

/// Guarded by its owner's lock. Requests complete in the order in which they were posted, and only some are signalled:
/// a completion speaks for all before it.
class SendQueue {
 public:
  explicit SendQueue(const RdmaConnection& connection) noexcept;

  /// How many requests can be posted now.
  [[nodiscard]] std::uint32_t room() const noexcept {
    return connection_.grants().send_depth - static_cast<std::uint32_t>(posted_ - completed_);
  }
  /// Requests posted, and completed as far as is known: request n is done once completed() > n, counted from 0.
  [[nodiscard]] std::uint64_t posted() const noexcept { return posted_; }
  [[nodiscard]] std::uint64_t completed() const noexcept { return completed_; }

  /// Posts all of them, chained here, in one call: at least one, at most room(). Signals one in every half queue, and
  /// those that the caller has marked. False when the device refuses: the queue pair is in error.
  bool post(std::span<ibv_send_wr> requests) noexcept;

  /// Posts an empty write, unless one is under way: a peer that is gone cannot acknowledge it.
  void post_probe() noexcept;

  /// At the beginning of a link: over iWARP the end that dialled has to send something before the other one may. Does
  /// nothing elsewhere.
  void speak_first() noexcept;

  /// Takes in what has completed. Returns the first true fault, if there is one: everything after it is only flushed.
  std::optional<ibv_wc_status> poll() noexcept;

 private:
  const RdmaConnection& connection_;
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t signalled_ = 0;  // the last signalled one's number, plus 1
  std::uint64_t probe_ = 0;      // likewise
};

/// The sentence for a fault of a request to `peer` ("the viewer").
std::string describe_fault(ibv_wc_status status, const std::string& peer);

}  // namespace framewire
