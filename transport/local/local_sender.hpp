// The sender's side of the local link: sends slot numbers through shared memory; payload is not copied.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/fixed_queue.hpp"
#include "transport/link.hpp"
#include "transport/local/shared_pages.hpp"
#include "transport/local/wake_socket.hpp"

namespace framewire {

class LocalSender final : public SenderLink {
 public:
  /// Takes the data connection, a Unix socket that is authenticated for the session, and passes the shared pages to the
  /// viewer. Throws Error.
  /// `viewer_memory`: names of the kinds of memory, besides host memory, that the viewer can import.
  explicit LocalSender(FileDescriptor socket, std::vector<std::string> viewer_memory = {});
  ~LocalSender() override;

  [[nodiscard]] LinkKind kind() const noexcept override { return LinkKind::local; }
  [[nodiscard]] bool takes(const MemoryKind& memory) const noexcept override;
  void begin_epoch(std::shared_ptr<Pool> pool) override;
  void epoch_ready(std::uint32_t epoch, std::uint32_t ring_slots, const LinkDescription& ring) noexcept override;
  SendResult try_send(const OutgoingFrame& frame) noexcept override;
  [[nodiscard]] std::shared_ptr<PeerWaker> take_waker() noexcept override;
  std::size_t poll_released(std::span<PoolSlot> released) noexcept override;
  bool arm() noexcept override;
  [[nodiscard]] int descriptor() const noexcept override { return poller_.get(); }
  void on_readable() noexcept override;
  void withdraw() noexcept override;
  [[nodiscard]] LinkState state() const noexcept override;
  [[nodiscard]] std::string fault() const override;
  [[nodiscard]] std::uint64_t frames_acknowledged() const noexcept override { return acknowledged_; }

 private:
  /// A frame that the viewer has not released.
  struct InFlight {
    PoolSlot slot;
    std::uint16_t slices = 0;
    bool has_more_to_come = false;  // slices that are announced later
  };

  bool take_cells_for(const OutgoingFrame& frame) noexcept;
  void fail() noexcept;
  [[nodiscard]] LocalCells& cells() const noexcept;
  [[nodiscard]] LocalAcknowledgements& acknowledgements() const noexcept;

  FileDescriptor socket_;
  const std::vector<std::string> viewer_memory_;
  std::shared_ptr<HostBlock> cells_block_;
  std::shared_ptr<HostBlock> acknowledgements_block_;
  std::shared_ptr<WakeSocket> wakes_;  // wakes the viewer, and is woken by it
  FileDescriptor poller_;              // readable for a credit or when a socket closes

  // Guarded by the stream's mutex, as try_send(), poll_released() and arm() are.
  std::uint32_t ready_epoch_ = 0;
  std::uint32_t ring_slots_ = 0;
  std::uint32_t published_ = 0;
  std::uint32_t seen_given_back_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint32_t in_flight_in_epoch_ = 0;
  FixedQueue<InFlight> in_flight_;  // in the order in which they were sent, as long as the viewer releases them in it
  std::uint32_t cells_taken_ = 0;   // by the slices of frames in flight; at most local_cell_count
  bool wake_is_due_ = false;        // the viewer was asleep when the last frame was announced

  std::atomic<bool> is_broken_ = false;
  std::atomic<bool> viewer_hung_up_ = false;
};

}  // namespace framewire
