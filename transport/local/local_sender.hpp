// The sender's end of the local link: slot numbers through shared memory, no payload moves.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "transport/link.hpp"
#include "transport/local/shared_pages.hpp"

namespace framewire {

class LocalSender final : public SenderLink {
 public:
  /// Takes the data connection, a Unix socket that has been proven to belong to the session, and hands the viewer the
  /// shared pages. Throws Error.
  explicit LocalSender(FileDescriptor socket);
  ~LocalSender() override;

  [[nodiscard]] LinkKind kind() const noexcept override { return LinkKind::local; }
  void begin_epoch(std::shared_ptr<Pool> pool) override;
  void epoch_ready(std::uint32_t epoch, std::uint32_t ring_slots,
                   const std::optional<RingAccess>& access) noexcept override;
  Offer offer(const OutgoingFrame& frame) noexcept override;
  std::size_t collect(std::span<PoolSlot> let_go) noexcept override;
  bool arm() noexcept override;
  [[nodiscard]] int descriptor() const noexcept override { return poller_.get(); }
  void on_readable() noexcept override;
  [[nodiscard]] LinkState state() const noexcept override;
  [[nodiscard]] std::string fault() const override;
  [[nodiscard]] std::uint64_t frames_acknowledged() const noexcept override { return acknowledged_; }

 private:
  [[nodiscard]] LocalCells& cells() const noexcept;
  [[nodiscard]] LocalAcknowledgements& acknowledgements() const noexcept;

  FileDescriptor socket_;
  std::shared_ptr<HostBlock> cells_block_;
  std::shared_ptr<HostBlock> acknowledgements_block_;
  FileDescriptor frame_event_;   // wakes the viewer
  FileDescriptor credit_event_;  // wakes this side
  FileDescriptor poller_;        // readable for a credit or when the socket ends

  // Guarded by the stream's mutex, as offer(), collect() and arm() are.
  std::uint32_t ready_epoch_ = 0;
  std::uint32_t ring_slots_ = 0;
  std::uint32_t published_ = 0;
  std::uint32_t seen_given_back_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint32_t under_way_in_epoch_ = 0;
  std::vector<PoolSlot> under_way_;  // given to the viewer, at most local_cell_count
  std::atomic<bool> is_broken_ = false;
};

}  // namespace framewire
