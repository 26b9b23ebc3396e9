// Sends and receives the frames of a row: short pieces of memory that arrive whole, once, or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace framewire {

/// One end of a row. One thread.
class FramePort {
 public:
  FramePort() = default;
  FramePort(const FramePort&) = delete;
  FramePort& operator=(const FramePort&) = delete;
  virtual ~FramePort() = default;

  /// The longest payload of a frame.
  [[nodiscard]] virtual std::size_t payload_bytes() const noexcept = 0;

  /// Memory for the payload of the next frame. Empty while all frames are on their way; send_queued() may free some.
  virtual std::span<std::byte> next_to_fill() noexcept = 0;
  /// Queues that frame, with a payload of so many bytes.
  virtual void queue(std::size_t bytes) noexcept = 0;
  /// Hands the queued frames to the kernel. Throws Error.
  virtual void send_queued() = 0;

  /// The payload of the next frame that has arrived; empty if there is none. Valid until the next call.
  virtual std::span<const std::byte> receive() = 0;

  /// Until a frame has arrived or the deadline has passed. Throws Error.
  virtual void wait(std::int64_t deadline_ns) = 0;
};

}  // namespace framewire
