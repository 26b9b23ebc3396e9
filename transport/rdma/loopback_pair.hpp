// A queue pair that is connected to itself: for trials that must not put a session at risk, and for reading back what a
// peer has written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "memory/block.hpp"
#include "transport/rdma/verbs.hpp"

namespace framewire {

/// A reliable queue pair (QP) of its own, with its completion queue. One thread at a time. The memory that its requests
/// name outlives this.
class LoopbackPair {
 public:
  enum class Path {
    as_connected,  // that of the connected QP: nothing that leaves the device can be posted
    to_itself,     // from the port to itself: what is written returns inside the device
  };

  /// In this PD, at the port of `connected`. If the device refuses (iWARP always does), it is not ready. `channel`: for
  /// notifications of completions; outlives this; null: none.
  LoopbackPair(ibv_pd* protection_domain, ibv_qp* connected, Path path, ibv_comp_channel* channel = nullptr) noexcept;

  [[nodiscard]] bool is_ready() const noexcept { return is_ready_; }

  /// Posts this signalled request, and waits for its completion; IBV_WC_GENERAL_ERR when the device refuses it. Nothing
  /// when it is not complete within `timeout_ns`, or `stop`, called now and then, returns true.
  [[nodiscard]] std::optional<ibv_wc_status> complete(ibv_send_wr request, std::int64_t timeout_ns,
                                                      const StopCheck& stop = {});

  /// The same in two steps: posts a signalled request, of which one may be in flight; false when the device refuses it.
  /// poll() has its completion once it is there.
  bool post(ibv_send_wr request) noexcept;
  [[nodiscard]] std::optional<ibv_wc_status> poll() noexcept;
  [[nodiscard]] ibv_cq* completions() const noexcept { return completions_.get(); }

 private:
  struct QueuePairDeleter {
    void operator()(ibv_qp* pair) const noexcept { ibv_destroy_qp(pair); }
  };

  bool connect(ibv_qp* connected, Path path) noexcept;

  VerbsPtr<ibv_cq> completions_;
  std::unique_ptr<ibv_qp, QueuePairDeleter> pair_;
  bool is_ready_ = false;
};

}  // namespace framewire
