// The sender's side of the tcp link: writes directly from the pool slot into the socket or into TLS (scatter-gather).
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "transport/byte_wire.hpp"
#include "transport/link.hpp"
#include "transport/tcp/credit_word.hpp"
#include "transport/tcp/tcp_writer.hpp"

namespace framewire {

/// Has no thread: TcpWriter says who writes.
class TcpSender final : public SenderLink {
 public:
  /// Takes the authenticated data connection: a plain socket, or a wire such as TLS. Throws Error.
  TcpSender(FileDescriptor socket, std::int64_t peer_timeout_ns);
  TcpSender(std::unique_ptr<ByteWire> wire, std::int64_t peer_timeout_ns);
  ~TcpSender() override;

  [[nodiscard]] LinkKind kind() const noexcept override { return LinkKind::tcp; }
  void begin_epoch(std::shared_ptr<Pool> pool) override;
  void epoch_ready(std::uint32_t epoch, std::uint32_t ring_slots, const LinkDescription& ring) noexcept override;
  [[nodiscard]] bool supports_sendfile() const noexcept override { return writer_->wire().supports_sendfile(); }
  void bound_send_queue() noexcept override;
  SendResult try_send(const OutgoingFrame& frame) noexcept override;
  [[nodiscard]] std::shared_ptr<PeerWaker> take_waker() noexcept override;
  std::size_t poll_released(std::span<PoolSlot> released) noexcept override;
  /// Credits make the descriptor readable without it.
  bool arm() noexcept override { return writer_->arm(); }
  [[nodiscard]] int descriptor() const noexcept override { return writer_->descriptor(); }
  void on_readable() noexcept override { writer_->write(); }
  [[nodiscard]] LinkState state() const noexcept override;
  [[nodiscard]] std::string fault() const override;
  [[nodiscard]] std::uint64_t frames_acknowledged() const noexcept override { return acknowledged_; }

 private:
  void read_credits() noexcept;
  void add_credit(const CreditWord& credit) noexcept;

  std::shared_ptr<TcpWriter> writer_;
  std::int64_t peer_timeout_ns_;
  mutable std::atomic<std::int64_t> next_check_ns_ = 0;

  // Guarded by the stream's mutex, as try_send(), take_waker() and poll_released() are.
  std::uint32_t ready_epoch_ = 0;
  std::vector<std::uint16_t> free_ring_slots_;
  std::vector<bool> ring_slot_is_out_;
  std::uint16_t current_ring_slot_ = 0;  // of the frame that is being sent
  bool has_more_to_come_ = false;        // slices of that frame
  std::uint64_t accepted_ = 0;           // frames
  std::uint64_t acknowledged_ = 0;
  bool has_bounded_queue_ = false;
  bool has_queued_ = false;  // since the last take_waker()
  std::array<std::byte, 2048> credit_bytes_{};
  std::size_t credit_bytes_held_ = 0;
};

}  // namespace framewire
