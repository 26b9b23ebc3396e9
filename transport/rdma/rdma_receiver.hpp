// The viewer's end of the rdma link: takes what the sender wrote into its ring.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/fixed_queue.hpp"
#include "transport/link.hpp"
#include "transport/rdma/immediate.hpp"
#include "transport/rdma/ring.hpp"
#include "transport/rdma/send_queue.hpp"
#include "transport/rdma/watch.hpp"

namespace framewire {

/// No thread moves payload: the device does, and poll() looks at its completions. The link's watch looks after the
/// rest.
class RdmaReceiver final : public ReceiverLink {
 public:
  /// Takes the proven connection. Throws Error.
  RdmaReceiver(std::unique_ptr<RdmaConnection> connection, bool relaxed_ordering);
  ~RdmaReceiver() override;

  [[nodiscard]] LinkKind kind() const noexcept override { return LinkKind::rdma; }
  std::optional<RingAccess> begin_epoch(std::uint32_t epoch, std::uint64_t slot_bytes,
                                        std::uint32_t ring_slots) override;
  std::optional<IncomingFrame> poll() noexcept override;
  bool arm() noexcept override;
  [[nodiscard]] int descriptor() const noexcept override { return poller_.get(); }
  void give_back(const FrameHeader& header) noexcept override;
  [[nodiscard]] LinkState state() const noexcept override { return state_.load(std::memory_order_acquire); }
  [[nodiscard]] std::string fault() const override;

 private:
  // Under the mutex.
  void receive_completed() noexcept;
  std::optional<IncomingFrame> take(const ibv_wc& completion) noexcept;
  std::optional<IncomingFrame> take_slice(const Immediate& immediate) noexcept;
  [[nodiscard]] const char* read_cell(const RdmaRing& ring, const Immediate& immediate,
                                      FrameHeader& header) const noexcept;
  RdmaRing* find_ring(std::uint32_t epoch_bits) noexcept;
  bool post(std::span<ibv_send_wr> requests) noexcept;
  void send_credits() noexcept;
  void poll_sends() noexcept;
  void fail(LinkState state, std::string why) noexcept;

  void bind(const RdmaRing& ring);
  void look_after() noexcept;
  void drain() noexcept;

  const bool relaxed_ordering_;
  std::unique_ptr<RdmaConnection> connection_;
  FileDescriptor end_event_;
  FileDescriptor poller_;
  std::atomic<LinkState> state_ = LinkState::open;

  mutable std::mutex mutex_;
  SendQueue sends_;
  std::vector<std::shared_ptr<RdmaRing>> rings_;  // the newest last; earlier ones until a frame of a later one came
  FixedQueue<IncomingFrame> arrived_;             // met while arming, or at the end, and not polled yet
  std::vector<Immediate> unsent_credits_;
  std::uint64_t posted_at_last_tick_ = 0;
  bool end_was_said_ = false;
  std::string fault_;

  std::unique_ptr<RdmaWatch> watch_;
};

}  // namespace framewire
