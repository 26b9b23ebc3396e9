// The viewer's side of the rdma link: takes the frames that the sender writes into its ring.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fixed_queue.hpp"
#include "transport/link.hpp"
#include "transport/rdma/rdma_link_core.hpp"
#include "transport/rdma/read_back.hpp"
#include "transport/rdma/ring.hpp"
#include "transport/rdma/wire.hpp"
#include "transport/ring_limits.hpp"

namespace framewire {

/// No thread copies payload: the device writes it, and poll() reads the completions.
class RdmaReceiver final : public ReceiverLink {
 public:
  /// Takes the authenticated connection. Throws Error.
  RdmaReceiver(std::unique_ptr<RdmaConnection> connection, bool relaxed_ordering);
  ~RdmaReceiver() override;

  [[nodiscard]] LinkKind kind() const noexcept override { return LinkKind::rdma; }
  [[nodiscard]] std::string note() const override;
  [[nodiscard]] MemoryAccess access_to(const MemoryKind& memory) const override { return core_.access_to(memory); }
  [[nodiscard]] bool takes(const MemoryKind& memory) const noexcept override { return core_.takes(memory); }
  LinkDescription begin_epoch(std::uint32_t epoch, std::uint64_t slot_bytes, std::uint32_t ring_slots,
                              const LinkDescription& pool) override;
  std::optional<IncomingFrame> poll() noexcept override;
  bool arm() noexcept override;
  [[nodiscard]] int descriptor() const noexcept override { return core_.descriptor(); }
  void return_credit(const FrameHeader& header) noexcept override;
  void maintain() noexcept override;
  [[nodiscard]] int maintenance_descriptor() const noexcept override { return core_.maintenance_descriptor(); }
  [[nodiscard]] LinkState state() const noexcept override { return core_.state(); }
  [[nodiscard]] std::string fault() const override { return core_.fault(); }

 private:
  using Rings = std::list<std::shared_ptr<RdmaRing>>;

  struct Arrived {
    IncomingFrame frame;
    std::uint64_t read_back = 0;  // is seen when read_back_ has done this; 0: at once
  };

  // Under the mutex.
  void receive_completed() noexcept;
  std::optional<Arrived> take(const ibv_wc& completion) noexcept;
  std::optional<Arrived> take_slice(const Immediate& immediate) noexcept;
  std::optional<IncomingFrame> pop_visible() noexcept;
  [[nodiscard]] bool is_first_visible() noexcept;
  void fail_if_not_read_back() noexcept;
  [[nodiscard]] const char* read_cell(const RdmaRing& ring, const Immediate& immediate,
                                      FrameHeader& header) const noexcept;
  bool show_writes(const RdmaRing& ring) noexcept;
  RdmaRing* find_ring(std::uint32_t epoch_bits) noexcept;
  void send_credits() noexcept;
  bool post_credits(std::span<const Immediate> credits) noexcept;

  void find_open_way(RdmaRing& ring);
  void take_next_way(RdmaRing& ring, const std::string& why_not);
  void prepare_read_back(const MemoryRegion& memory_region);
  void bind(const RdmaRing& ring);
  void drain() noexcept;

  const bool relaxed_ordering_;
  RdmaLinkCore core_;
  const bool has_windows_;                      // the device can bind windows
  std::atomic<bool> ring_has_windows_ = false;  // the newest ring in host memory
  LivingRings living_rings_;                    // begin_epoch()
  ClosedWays closed_ways_;                      // begin_epoch(): to memory(), for the rest of the session

  // Guarded by core_.mutex().
  Rings rings_;                          // the newest last; earlier ones until a frame of a later one arrives
  Rings left_rings_;                     // such earlier ones, for who releases the mutex: that deregisters their memory
  std::unique_ptr<ReadBack> read_back_;  // from the first ring on that needs it
  FixedQueue<Arrived> arrived_;          // not polled yet: found while arming or at the end, or not seen yet
  std::vector<Immediate> unsent_credits_;
  std::uint64_t taken_in_a_row_ = 0;  // frames since the last poll() that found none
};

}  // namespace framewire
