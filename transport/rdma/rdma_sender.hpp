// The sender's side of the rdma link: the device writes from the pool's slot into the viewer's ring.
//
// The work requests (WR) of one frame with one slice. A frame of at most max_payload_in_cell_bytes has no RDMA_WRITE:
// its payload follows the header in the RDMA_WRITE_WITH_IMM.
//
// clang-format off
//
//   sender                                                     viewer
//   ------                                                     ------
//   n x RDMA_WRITE            payload, chunk_bytes each -----> slot of the ring; no CQE
//   1 x RDMA_WRITE_WITH_IMM   header, signalled -------------> header cell of the slot; CQE of a receive: {epoch, slot}
//   CQE of the RDMA_WRITE_WITH_IMM:                            the viewer shows the frame
//       the pool's slot is free
//   CQE of a receive: <------------------- SEND_WITH_IMM ----- the credit: {epoch, slot}
//       the ring's slot is free
//
// clang-format on
//
// - try_send() posts all WRs in one ibv_post_send() when the send queue has room for them and they are at most
//   max_in_post.
// - WRs of a QP complete in order, so the signalled CQE also covers the RDMA_WRITEs.
// - A frame without RDMA_WRITE is copied into its WR or into staging memory. Its WR is not signalled, and its pool slot
//   is free at once.
// - A frame of several slices has one announcement for each slice, and one credit.
// - A device without immediates (iWARP) writes the header with RDMA_WRITE. A SEND of four bytes replaces the immediate.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/fixed_queue.hpp"
#include "transport/link.hpp"
#include "transport/rdma/memory_access.hpp"
#include "transport/rdma/memory_region.hpp"
#include "transport/rdma/rdma_link_core.hpp"
#include "transport/rdma/wire.hpp"

namespace framewire {

/// No thread copies payload. try_send() posts what the send queue has room for; poll_released() posts the rest.
class RdmaSender final : public SenderLink {
 public:
  /// Takes the authenticated connection. It has staging memory of cell_stride_bytes for each work request, for headers
  /// that are too long to be posted inline. `protection_domains` outlives the link. Throws Error.
  RdmaSender(std::unique_ptr<RdmaConnection> connection, SenderProtectionDomains& protection_domains);
  ~RdmaSender() override;

  [[nodiscard]] LinkKind kind() const noexcept override { return LinkKind::rdma; }
  /// The device reads the slots; the processor need not.
  [[nodiscard]] bool takes(const MemoryKind& memory) const noexcept override { return core_.takes(memory); }
  void begin_epoch(std::shared_ptr<Pool> pool) override;
  void epoch_ready(std::uint32_t epoch, std::uint32_t ring_slots, const LinkDescription& ring) noexcept override;
  [[nodiscard]] std::uint16_t slice_limit() const noexcept override;
  void bound_send_queue() noexcept override;
  SendResult try_send(const OutgoingFrame& frame) noexcept override;
  std::size_t poll_released(std::span<PoolSlot> released) noexcept override;
  bool arm() noexcept override;
  [[nodiscard]] int descriptor() const noexcept override { return core_.descriptor(); }
  void on_readable() noexcept override;
  void maintain() noexcept override { core_.maintain(); }
  [[nodiscard]] int maintenance_descriptor() const noexcept override { return core_.maintenance_descriptor(); }
  [[nodiscard]] LinkState state() const noexcept override { return core_.state(); }
  [[nodiscard]] std::string fault() const override { return core_.fault(); }
  [[nodiscard]] MemoryAccess access_to(const MemoryKind& memory) const override { return core_.access_to(memory); }
  [[nodiscard]] std::uint64_t frames_acknowledged() const noexcept override { return acknowledged_; }

 private:
  /// The viewer's ring of one epoch, as this side knows it.
  struct RemoteRing {
    std::uint32_t epoch = 0;
    std::uint64_t stride_bytes = 0;
    RingAccess access;
    std::shared_ptr<const MemoryRegion> pool;  // of the newest ring only
    std::vector<std::uint16_t> free_slots;
    std::vector<std::uint16_t> slices_out;  // slices of each slot's frame in flight; 0: the slot is free
  };
  /// A slice that is being posted. It refers to members of its owner.
  struct Slice {
    const FrameHeader& header;
    const Payload& payload;  // of the whole frame
    const RemoteRing& ring;
    const MemoryRegion& pool;
    std::uint64_t& posted_bytes;
  };
  struct Waiting {
    OutgoingFrame frame;
    std::shared_ptr<const RemoteRing> ring;
    std::shared_ptr<const MemoryRegion> pool;
    std::uint64_t posted_bytes = 0;  // of the slice

    [[nodiscard]] Slice slice() noexcept { return {frame.header, frame.payload, *ring, *pool, posted_bytes}; }
  };

  struct InFlight {
    std::uint64_t last_request = 0;
    PoolSlot slot;
    std::shared_ptr<const MemoryRegion> pool;  // the device reads it until then
  };
  struct Batch;

  // Under the mutex.
  void finish_read(const PoolSlot& slot) noexcept;
  bool spend_credit(const OutgoingFrame& frame) noexcept;
  bool take_completed() noexcept;
  bool take_credits() noexcept;
  void add_credit(const Immediate& credit) noexcept;
  bool take_sent() noexcept;
  void post_waiting() noexcept;
  bool post_slice(const Slice& slice) noexcept;
  void add_payload(Batch& batch, const Slice& slice) noexcept;
  void add_announcement(Batch& batch, const Slice& slice) noexcept;
  static bool is_in_cell(const Slice& slice) noexcept;
  static bool reads_slot(const Slice& slice) noexcept;
  void release(const Slice& slice, const OutgoingFrame& frame,
               const std::shared_ptr<const MemoryRegion>& pool) noexcept;
  [[nodiscard]] const RdmaCapabilities& capabilities() const noexcept { return core_.connection().capabilities(); }

  SenderProtectionDomains& protection_domains_;
  RdmaLinkCore core_;

  // Guarded by the stream's mutex, as try_send(), poll_released() and arm() are.
  std::uint64_t acknowledged_ = 0;

  // Guarded by core_.mutex().
  std::shared_ptr<Pool> announced_pool_;
  std::shared_ptr<const MemoryRegion> announced_memory_region_;
  std::vector<std::shared_ptr<RemoteRing>> rings_;  // the newest last; earlier ones until all their slots are free
  std::uint16_t current_slot_ = 0;                  // the ring's slot of the frame that is being sent
  bool has_more_to_come_ = false;                   // slices of that frame
  std::uint64_t accepted_ = 0;                      // frames
  std::uint64_t slices_out_ = 0;
  bool has_bounded_queue_ = false;
  std::uint64_t frames_being_read_ = 0;  // frames that are accepted and still read by the device
  FixedQueue<Waiting> waiting_;          // accepted, and not completely posted
  FixedQueue<InFlight> in_flight_;       // posted, and not known to be complete
  std::vector<PoolSlot> done_;
};

}  // namespace framewire
