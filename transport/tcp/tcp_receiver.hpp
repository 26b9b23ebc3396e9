// The viewer's side of the tcp link: reads each payload directly into its ring slot.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/fixed_queue.hpp"
#include "transport/byte_wire.hpp"
#include "transport/link.hpp"
#include "transport/tcp/credit_word.hpp"

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
  bool has_frames = false;                 // one has come for it; guarded by the receiver's mutex
};

/// Owns one thread ("fw-tcp-recv") that reads the socket.
class TcpReceiver final : public ReceiverLink {
 public:
  /// Takes the authenticated data connection: a plain socket, or a wire such as TLS. Throws Error.
  TcpReceiver(FileDescriptor socket, std::int64_t peer_timeout_ns);
  TcpReceiver(std::unique_ptr<ByteWire> wire, std::int64_t peer_timeout_ns);
  ~TcpReceiver() override;

  [[nodiscard]] LinkKind kind() const noexcept override { return LinkKind::tcp; }
  LinkDescription begin_epoch(std::uint32_t epoch, std::uint64_t slot_bytes, std::uint32_t ring_slots,
                              const LinkDescription& pool) override;
  std::optional<IncomingFrame> poll() noexcept override;
  bool arm() noexcept override;
  [[nodiscard]] int descriptor() const noexcept override { return arrived_event_.get(); }
  void return_credit(const FrameHeader& header) noexcept override;
  [[nodiscard]] LinkState state() const noexcept override { return state_.load(std::memory_order_acquire); }
  [[nodiscard]] std::string fault() const override;

 private:
  static constexpr std::size_t max_arrived = 1024;

  void flush_credits() noexcept;
  void receive_loop() noexcept;
  bool receive_frame();
  std::span<std::byte> take_buffered(std::span<std::byte> out) noexcept;
  bool read_bytes(std::span<std::byte> out) noexcept;
  bool fill_buffer() noexcept;
  bool end_with(WireStatus status) noexcept;
  std::shared_ptr<TcpRing> find_ring(std::uint32_t epoch) noexcept;
  bool fail(std::string why);
  void end(LinkState state) noexcept;

  std::unique_ptr<ByteWire> wire_;
  FileDescriptor arrived_event_;
  std::atomic<LinkState> state_ = LinkState::open;
  std::atomic<bool> has_lost_sender_ = false;  // it accepts no more credits

  std::vector<CreditWord> pending_credits_;  // program's thread

  // The reading thread's.
  std::vector<std::byte> buffer_;
  std::size_t buffer_begin_ = 0;
  std::size_t buffer_end_ = 0;

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<TcpRing>> rings_;  // the newest last; earlier ones until a frame of a later ring arrives
  FixedQueue<IncomingFrame> arrived_{max_arrived};
  bool is_waiting_ = false;
  bool end_reported_ = false;
  std::string fault_;

  std::thread thread_;
};

}  // namespace framewire
