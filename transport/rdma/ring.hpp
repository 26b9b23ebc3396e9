// The viewer's slots and header cells of one epoch, and the addresses and keys that the sender needs to write them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "transport/link.hpp"
#include "transport/rdma/memory_access.hpp"
#include "transport/rdma/verbs.hpp"
#include "transport/rdma/work_requests.hpp"
#include "transport/slice_assembly.hpp"

namespace framewire {

/// Whether a memory window (MW) can be bound over this region (can_bind_window()).
using WindowTrial = std::function<bool(const MemoryRegion& memory_region)>;

/// A slot belongs to the sender until it has announced the last slice of a frame there, and then to the viewer.
class RdmaRing {
 public:
  /// Allocates the slots in `memory`, and registers them, by none of `closed_ways`. When they are in host memory,
  /// `can_bind` is set and it returns true, the sender gets access only by bind_requests(). Otherwise the MRs
  /// themselves allow remote writes. Throws Error.
  RdmaRing(const std::shared_ptr<ibv_pd>& protection_domain, std::uint32_t epoch, std::uint64_t slot_bytes,
           std::uint32_t slots, const WindowTrial& can_bind, bool relaxed_ordering, const StopCheck& stop,
           const MemoryKind& memory, const ClosedWays& closed_ways);
  /// Registers the slots of a ring in a device's memory once more, by none of `closed_ways`, before anyone knows its
  /// access(). The first registration ends before that: a GPU's BAR1 window may have no room for both. Throws Error
  /// (failed), and leaves a ring that is good for nothing.
  void register_again(const ClosedWays& closed_ways);

  [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] std::uint64_t slot_bytes() const noexcept { return slot_bytes_; }
  [[nodiscard]] std::uint64_t stride_bytes() const noexcept { return stride_bytes_; }
  [[nodiscard]] std::uint32_t cells_per_slot() const noexcept { return cells_per_slot_; }
  [[nodiscard]] std::uint32_t slot_count() const noexcept { return static_cast<std::uint32_t>(is_lent.size()); }
  /// Only of a ring in host memory.
  [[nodiscard]] std::span<std::byte> slot(std::uint16_t index) const noexcept {
    return payload_window_.memory_region->bytes().subspan(index * stride_bytes_, slot_bytes_);
  }
  [[nodiscard]] const MemoryRegion& payload_region() const noexcept { return *payload_window_.memory_region; }
  [[nodiscard]] const std::shared_ptr<const Block>& payload_block() const noexcept { return payload_region().block; }
  [[nodiscard]] std::span<const std::byte> cell(std::uint16_t slot, std::uint16_t slice) const noexcept;

  [[nodiscard]] bool has_windows() const noexcept { return payload_window_.window != nullptr; }
  /// The work requests that bind its windows, one for the payload and one for the cells; empty without windows.
  [[nodiscard]] std::vector<ibv_send_wr> bind_requests() const;
  /// Ends the sender's access at once. False without windows: then only the destructor ends it.
  bool close_windows() noexcept;
  /// The addresses and keys for the sender. Send them only after the windows are bound.
  [[nodiscard]] RingAccess access() const noexcept;

  // Guarded by the link's mutex.
  std::vector<bool> is_lent;              // of each slot: the sender may write it
  std::vector<SliceAssembly> assemblies;  // of each slot
  bool has_frames = false;                // one has come for it

 private:
  struct Window {
    std::shared_ptr<const MemoryRegion> memory_region;
    VerbsPtr<ibv_mw> window;  // null: the MR itself allows remote writes
    std::uint32_t key = 0;
  };
  void register_all(const std::shared_ptr<ibv_pd>& protection_domain, unsigned opening, const ClosedWays& closed_ways);
  bool make_windows(const std::shared_ptr<ibv_pd>& protection_domain, const WindowTrial& can_bind);

  std::uint32_t epoch_;
  std::uint64_t slot_bytes_;
  std::uint64_t stride_bytes_;
  std::uint32_t cells_per_slot_;
  bool relaxed_ordering_;
  std::shared_ptr<const Block> payload_;
  std::shared_ptr<const HostBlock> cells_;
  Window payload_window_;
  Window cells_window_;
};

}  // namespace framewire
