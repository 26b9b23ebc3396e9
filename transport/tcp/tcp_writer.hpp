// The frames that wait for one socket, and the writing of them, which never waits for the viewer.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/fixed_queue.hpp"
#include "transport/byte_wire.hpp"
#include "transport/link.hpp"

namespace framewire {

/// Written by the session's thread, or by the source's thread directly after it has published a small frame over an
/// idle link, which saves waking the session. One at a time: who finds the other one writing leaves the frame to it.
/// Over a busy link the session's thread writes, so that frames gather meanwhile and share a system call. What a full
/// socket does not take, it writes once the socket is writable.
///
/// Shared by its link and by those who will wake() it: they may come when the link is gone.
class TcpWriter final : public PeerWaker {
 public:
  static constexpr std::size_t max_queued = 256;  // frames or slices

  /// Throws Error.
  explicit TcpWriter(std::unique_ptr<ByteWire> wire);

  [[nodiscard]] ByteWire& wire() noexcept { return *wire_; }
  [[nodiscard]] const ByteWire& wire() const noexcept { return *wire_; }

  /// Queues a frame; false when the queue is full, or when `only_if_idle` and an earlier frame is not written yet. Call
  /// wake() afterwards, without a mutex. Any thread.
  bool queue(const OutgoingFrame& frame, bool only_if_idle) noexcept;
  /// Whether the viewer has taken almost everything: then wake() writes small frames itself. Any thread.
  void set_idle(bool is_idle) noexcept { is_link_idle_.store(is_idle, std::memory_order_relaxed); }
  /// Has the queued frames written, by this thread or by the session's.
  void wake() noexcept override;

  /// Takes the pool slots of frames that were written completely; returns how many. Any thread.
  std::size_t take_written(std::span<PoolSlot> slots) noexcept;
  /// Makes descriptor() readable when take_written() has something. False when it already has. Any thread.
  bool arm() noexcept;

  /// Readable when write() has something to do, and when the peer has sent something or is gone.
  [[nodiscard]] int descriptor() const noexcept { return poller_.get(); }
  /// Writes until the socket is full, but at most some megabytes. The session's thread.
  void write() noexcept;

  /// `open` until fail(). Any thread.
  [[nodiscard]] LinkState state() const noexcept { return state_.load(std::memory_order_acquire); }
  /// The first failure counts. Makes descriptor() readable. Any thread.
  void fail(LinkState state) noexcept;
  /// The error number of the file that could not be read, once the state is source_failed.
  [[nodiscard]] int source_errno() const noexcept { return source_errno_; }

  /// Ends the connection. After this no thread reads a frame. Waits for a system call that never blocks.
  void close() noexcept;

 private:
  /// Small frames that wait together are written by one system call.
  static constexpr std::size_t max_in_batch = 32;

  enum class Driver { session, source };
  enum class Outcome {
    idle,     // nothing is left to write
    full,     // the socket is, and descriptor() says when it is not
    left,     // something is, for the session's thread
    stopped,  // closed or failed
  };
  void drive(Driver driver) noexcept;
  void call_session() noexcept;
  Outcome write_queued(Driver driver) noexcept;
  Outcome wait_for_room() noexcept;
  bool take_batch(Driver driver, std::size_t budget_bytes) noexcept;
  void prepare_batch() noexcept;
  WireWrite write_batch() noexcept;
  WireWrite write_file() noexcept;
  void finish_batch(Driver driver) noexcept;
  [[nodiscard]] bool is_idle() noexcept;

  std::unique_ptr<ByteWire> wire_;
  FileDescriptor event_;
  FileDescriptor poller_;
  std::atomic<LinkState> state_ = LinkState::open;
  std::atomic<bool> is_closed_ = false;
  std::atomic<bool> is_link_idle_ = true;
  std::atomic<bool> is_session_called_ = false;  // and has not begun to write
  int source_errno_ = 0;                         // written before the state becomes source_failed

  std::mutex mutex_;  // never held over a system call but the event's
  FixedQueue<OutgoingFrame> queue_{max_queued};
  std::uint64_t unwritten_frames_ = 0;  // queued, and not completely in the kernel
  std::vector<PoolSlot> written_;
  bool is_armed_ = false;

  std::mutex turn_;  // its holder writes; everybody else only tries to lock it
  // The holder's: the frames that are being written.
  std::array<OutgoingFrame, max_in_batch> batch_{};
  std::size_t batch_size_ = 0;
  std::array<std::array<std::byte, max_frame_header_bytes>, max_in_batch> headers_;
  std::array<iovec, 2 * max_in_batch> parts_;
  std::span<iovec> parts_left_;
  std::uint64_t file_offset_bytes_ = 0;
  std::uint64_t file_left_bytes_ = 0;
  bool is_full_ = false;  // the socket; the poller watches for room
};

}  // namespace framewire
