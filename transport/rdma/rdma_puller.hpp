// The viewer's side of an rdma link in read mode: polls the sender's newest frame at an interval.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "transport/frame_directory.hpp"
#include "transport/link.hpp"
#include "transport/rdma/memory_access.hpp"
#include "transport/rdma/rdma_link_core.hpp"
#include "transport/rdma/work_requests.hpp"
#include "transport/ring_limits.hpp"

namespace framewire {

/// One poll is a chain of RDMA READs; poll() posts each step when the one before has completed:
///   1. the newest cell
///   2. if it names a new frame: that slot's header cell
///   3. the slot's payload, and behind a fence the header cell again, which must not have changed
/// There are no credits: return_credit() only frees a slot here.
class RdmaPuller final : public ReceiverLink {
 public:
  /// Takes the authenticated connection. Two polls are at least `interval_ns` apart. Throws Error.
  RdmaPuller(std::unique_ptr<RdmaConnection> connection, std::int64_t interval_ns, bool relaxed_ordering);
  ~RdmaPuller() override;

  [[nodiscard]] LinkKind kind() const noexcept override { return LinkKind::rdma; }
  [[nodiscard]] std::string note() const override;
  /// Aborts the poll in progress: after this returns, no READ reads an earlier pool.
  LinkDescription begin_epoch(std::uint32_t epoch, std::uint64_t slot_bytes, std::uint32_t ring_slots,
                              const LinkDescription& pool) override;
  void epoch_is_ready() noexcept override;
  std::optional<IncomingFrame> poll() noexcept override;
  bool arm() noexcept override;
  [[nodiscard]] int descriptor() const noexcept override { return poller_.get(); }
  void return_credit(const FrameHeader& header) noexcept override;
  void maintain() noexcept override { core_.maintain(); }
  [[nodiscard]] int maintenance_descriptor() const noexcept override { return core_.maintenance_descriptor(); }
  [[nodiscard]] LinkState state() const noexcept override { return core_.state(); }
  [[nodiscard]] std::string fault() const override { return core_.fault(); }
  [[nodiscard]] std::uint64_t frames_discarded() const noexcept override { return frames_discarded_; }

 private:
  /// What the READs in flight are for.
  enum class Step { resting, newest, cell, payload };

  /// The sender's pool and the local slots of one epoch.
  struct Ring {
    std::uint32_t epoch = 0;
    std::uint64_t slot_bytes = 0;
    std::uint64_t stride_bytes = 0;
    PoolAccess pool;
    std::shared_ptr<const MemoryRegion> slots;
    std::vector<std::uint16_t> free_slots;
    std::vector<bool> is_held;  // by the frames' receiver
  };
  struct PollState {
    NewestFrame newest;
    FrameHeader header;
    const char* header_fault = nullptr;  // if the cell holds no frame of this epoch
    std::uint16_t slot = 0;              // of the local ring
    std::uint64_t posted_bytes = 0;      // of the payload
    bool is_whole = false;               // all READs are posted
    int tries = 0;
  };
  struct Reads;

  // Under the mutex.
  [[nodiscard]] bool may_poll() const noexcept;
  void wake() noexcept;
  void begin_poll() noexcept;
  void read_newest() noexcept;
  void take_newest() noexcept;
  void take_cell() noexcept;
  [[nodiscard]] const char* read_header() noexcept;
  void read_payload() noexcept;
  std::optional<IncomingFrame> take_payload() noexcept;
  void discard() noexcept;
  void rest() noexcept;
  void post(Reads& reads) noexcept;
  [[nodiscard]] bool has_read() const noexcept { return core_.completed() >= awaited_; }
  [[nodiscard]] std::span<const std::byte> landed(std::size_t offset_bytes, std::size_t bytes) const noexcept;

  const std::int64_t poll_interval_ns_;
  const bool relaxed_ordering_;
  RdmaLinkCore core_;
  FileDescriptor timer_;
  FileDescriptor poller_;
  std::shared_ptr<const MemoryRegion> cells_;  // where the frame directory's cells are read into
  std::atomic<std::uint64_t> frames_discarded_ = 0;
  LivingRings living_rings_;  // begin_epoch()

  // Guarded by core_.mutex().
  std::optional<Ring> ring_;
  bool is_ready_ = false;  // the frames' receiver knows their format
  Step step_ = Step::resting;
  PollState poll_state_;
  std::uint64_t awaited_ = 0;  // work requests that must complete before the next step
  std::uint64_t last_generation_ = 0;
  std::int64_t next_poll_ns_ = 0;
};

}  // namespace framewire
