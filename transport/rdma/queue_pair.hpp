// A queue pair (QP) with its two completion queues (CQ): posting, completions, receives. It does not know how it is
// connected.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/rdma/device_events.hpp"
#include "transport/rdma/options.hpp"
#include "transport/rdma/verbs.hpp"
#include "transport/rdma/work_requests.hpp"

namespace framewire {

/// One thread creates it. Afterwards the owner guards the queues with its lock.
class RdmaQueuePair {
 public:
  /// `id` has a device but no QP yet, and outlives this. Posts the receives if they are for immediates. Throws Error
  /// (failed) when the device lacks a feature.
  RdmaQueuePair(rdma_cm_id& id, const RdmaOptions& options);
  ~RdmaQueuePair();
  RdmaQueuePair(const RdmaQueuePair&) = delete;
  RdmaQueuePair& operator=(const RdmaQueuePair&) = delete;

  [[nodiscard]] ibv_qp* get() const noexcept { return pair_->qp; }
  [[nodiscard]] const std::shared_ptr<ibv_pd>& protection_domain() const noexcept { return protection_domain_; }
  [[nodiscard]] ibv_cq* send_completions() const noexcept { return send_completions_.get(); }
  [[nodiscard]] ibv_cq* receive_completions() const noexcept { return receive_completions_.get(); }
  [[nodiscard]] const RdmaCapabilities& capabilities() const noexcept { return capabilities_; }
  [[nodiscard]] const std::shared_ptr<const MemoryRegion>& staging() const noexcept { return staging_; }

  /// Call it after the connection is established.
  void shorten_rnr_timeouts() noexcept;

  // Documented in RdmaConnection and ConnectedQueuePair.
  [[nodiscard]] std::optional<std::uint32_t> immediate_of(const ibv_wc& completion) const noexcept;
  void hold_receive(const ibv_wc& completion) noexcept {
    held_receives_.push_back(static_cast<std::uint32_t>(completion.wr_id));
  }
  bool post_held_receives() noexcept;
  bool request_notification() noexcept;
  void take_notifications() noexcept;
  [[nodiscard]] int completion_descriptor() const noexcept { return channel_->fd; }
  std::vector<DeviceEvent> take_device_events() { return device_events_.take(*device_); }

 private:
  struct PairDeleter {
    void operator()(rdma_cm_id* id) const noexcept { rdma_destroy_qp(id); }
  };
  /// A completion queue's notifications.
  struct Notified {
    ibv_cq* queue = nullptr;
    bool is_requested = false;
    unsigned unacknowledged = 0;
  };

  void read_limits(rdma_cm_id& id, const ibv_device_attr& attributes, const RdmaPreferences& preferences);
  void make(rdma_cm_id& id, const ibv_device_attr& attributes, const RdmaOptions& options);
  void prepare_immediates();

  ibv_context* const device_;
  DeviceEvents device_events_;  // outlives the queues, which refer to it
  std::shared_ptr<ibv_pd> protection_domain_;
  RdmaCapabilities capabilities_;
  std::shared_ptr<const MemoryRegion> staging_;
  std::shared_ptr<const MemoryRegion>
      immediate_messages_;  // receives messages in place of immediates when the device has no immediates
  VerbsPtr<ibv_comp_channel> channel_;
  VerbsPtr<ibv_cq> send_completions_;
  VerbsPtr<ibv_cq> receive_completions_;
  std::unique_ptr<rdma_cm_id, PairDeleter> pair_;
  std::array<Notified, 2> notified_;
  std::vector<std::uint32_t> held_receives_;  // indices of receives; at most receive_depth
};

}  // namespace framewire
