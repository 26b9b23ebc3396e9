// The viewer's side of the tcp link: reads each payload directly into its ring slot.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/fixed_queue.hpp"
#include "transport/byte_wire.hpp"
#include "transport/link.hpp"
#include "transport/ring_limits.hpp"
#include "transport/slice_assembly.hpp"
#include "transport/tcp/credit_word.hpp"
#include "transport/tcp/tcp_reader.hpp"

namespace framewire {

/// The slots of one epoch at the viewer. A slot belongs to the sender until its frame is announced, then to the viewer
/// until the credit is returned.
struct TcpRing {
  TcpRing(std::uint32_t ring_epoch, std::uint64_t bytes_per_slot, std::uint32_t slots, const StopCheck& stop);

  std::uint32_t epoch;
  std::uint64_t slot_bytes;
  std::uint64_t stride_bytes;
  std::shared_ptr<HostBlock> block;
  std::vector<std::atomic<bool>> is_lent;  // the sender may write it
  std::vector<SliceAssembly> assemblies;   // of the slots; guarded by the receiver's turn to read
  bool has_frames = false;                 // one has come for it; guarded by the receiver's mutex
};

/// Has no thread: drive() reads the socket.
class TcpReceiver final : public ReceiverLink {
 public:
  /// Takes the authenticated data connection: a plain socket, or a wire such as TLS. Throws Error.
  TcpReceiver(FileDescriptor socket, std::int64_t peer_timeout_ns);
  TcpReceiver(std::unique_ptr<ByteWire> wire, std::int64_t peer_timeout_ns);
  ~TcpReceiver() override;

  [[nodiscard]] LinkKind kind() const noexcept override { return LinkKind::tcp; }
  LinkDescription begin_epoch(std::uint32_t epoch, std::uint64_t slot_bytes, std::uint32_t ring_slots,
                              const LinkDescription& pool) override;
  bool drive() noexcept override;
  [[nodiscard]] int wire_descriptor() const noexcept override { return state() == LinkState::open ? wire_->fd() : -1; }
  std::optional<IncomingFrame> poll() noexcept override;
  bool arm() noexcept override;
  [[nodiscard]] int descriptor() const noexcept override { return arrived_event_.get(); }
  void return_credit(const FrameHeader& header) noexcept override;
  void maintain() noexcept override { flush_credits(); }
  [[nodiscard]] LinkState state() const noexcept override { return state_.load(std::memory_order_acquire); }
  [[nodiscard]] std::string fault() const override;

 private:
  static constexpr std::size_t max_slices_arrived = 256;  // of frames that are not complete
  static constexpr std::size_t max_arrived = 1024 + max_slices_arrived;

  TcpReader::Place place_of(const FrameHeader& header) noexcept;
  std::shared_ptr<TcpRing> find_ring(std::uint32_t epoch) noexcept;
  bool take_frame() noexcept;
  void end_after(TcpReader::Status status) noexcept;
  void end(LinkState state, std::string why = {}) noexcept;
  void flush_credits() noexcept;
  [[nodiscard]] bool has_unwritten_credits() const noexcept;
  bool write_credits() noexcept;
  void lose_sender() noexcept;

  std::unique_ptr<ByteWire> wire_;
  FileDescriptor arrived_event_;
  std::atomic<LinkState> state_ = LinkState::open;
  std::atomic<bool> has_lost_sender_ = false;  // it accepts no more credits

  LivingRings living_rings_;  // begin_epoch()

  std::mutex read_turn_;  // its holder reads; everybody else only tries to lock it
  TcpReader reader_;
  std::shared_ptr<TcpRing> reading_into_;

  std::mutex credit_turn_;  // its holder writes credits; everybody else only tries to lock it
  std::vector<CreditWord> credits_on_the_way_;
  iovec credit_part_{};
  std::span<iovec> credit_rest_;                 // of credits_on_the_way_
  std::atomic<bool> credits_have_rest_ = false;  // the kernel did not take all

  mutable std::mutex mutex_;                   // never held over a system call
  std::list<std::shared_ptr<TcpRing>> rings_;  // the newest last; earlier ones until a frame of a later ring arrives
  FixedQueue<IncomingFrame> arrived_{max_arrived};
  std::vector<CreditWord> waiting_credits_;
  bool is_waiting_ = false;
  bool end_reported_ = false;
  std::string fault_;
};

}  // namespace framewire
