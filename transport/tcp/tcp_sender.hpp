// The sender's side of the tcp link: writes directly from the pool slot into the socket or into TLS (scatter-gather).
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
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

/// Owns one thread ("fw-tcp-send") that writes to the socket. It may block there while the viewer does not read.
/// try_send() and poll_released() never wait for it.
class TcpSender final : public SenderLink {
 public:
  /// Takes the authenticated data connection: a plain socket, or a wire such as TLS. Throws Error.
  TcpSender(FileDescriptor socket, std::int64_t peer_timeout_ns);
  TcpSender(std::unique_ptr<ByteWire> wire, std::int64_t peer_timeout_ns);
  ~TcpSender() override;

  [[nodiscard]] LinkKind kind() const noexcept override { return LinkKind::tcp; }
  void begin_epoch(std::shared_ptr<Pool> pool) override;
  void epoch_ready(std::uint32_t epoch, std::uint32_t ring_slots, const LinkDescription& ring) noexcept override;
  [[nodiscard]] bool supports_sendfile() const noexcept override { return wire_->supports_sendfile(); }
  void bound_send_queue() noexcept override;
  SendResult try_send(const OutgoingFrame& frame) noexcept override;
  std::size_t poll_released(std::span<PoolSlot> released) noexcept override;
  bool arm() noexcept override;
  [[nodiscard]] int descriptor() const noexcept override { return poller_.get(); }
  void on_readable() noexcept override { clear_eventfd(done_event_.get()); }
  [[nodiscard]] LinkState state() const noexcept override;
  [[nodiscard]] std::string fault() const override;
  [[nodiscard]] std::uint64_t frames_acknowledged() const noexcept override { return acknowledged_; }

 private:
  static constexpr std::size_t max_queued = 256;

  void send_loop() noexcept;
  LinkState send_batch(std::span<const OutgoingFrame> frames) noexcept;
  LinkState send_file(const OutgoingFrame& frame) noexcept;
  void read_credits() noexcept;
  void add_credit(const CreditWord& credit) noexcept;
  void fail(LinkState state) noexcept;

  std::unique_ptr<ByteWire> wire_;
  std::int64_t peer_timeout_ns_;
  FileDescriptor done_event_;
  FileDescriptor poller_;  // readable for credits, released slots, and when the connection ends
  std::atomic<LinkState> state_ = LinkState::open;
  int source_errno_ = 0;  // of the source file that could not be read; written before the state becomes source_failed

  // Guarded by the stream's mutex, as try_send(), poll_released() and arm() are.
  std::uint32_t ready_epoch_ = 0;
  std::vector<std::uint16_t> free_ring_slots_;
  std::vector<bool> ring_slot_is_out_;
  std::uint16_t current_ring_slot_ = 0;
  std::uint64_t accepted_ = 0;  // frames
  std::uint64_t acknowledged_ = 0;
  bool has_bounded_queue_ = false;
  std::array<std::byte, 2048> credit_bytes_{};
  std::size_t credit_bytes_held_ = 0;

  std::mutex mutex_;  // between try_send()/poll_released() and the sending thread
  std::condition_variable queued_;
  FixedQueue<OutgoingFrame> queue_{max_queued};
  std::uint64_t frames_to_write_ = 0;  // accepted, and not yet completely in the socket
  std::vector<PoolSlot> done_;
  bool stopping_ = false;

  std::thread thread_;
};

}  // namespace framewire
