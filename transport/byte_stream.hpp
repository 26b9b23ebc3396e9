// A connection as a stream of bytes in both directions, plain or encrypted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/file_descriptor.hpp"

namespace framewire {

enum class IoStatus {
  moved,   // at least one byte
  again,   // nothing now: wait for `wait_events` on fd()
  closed,  // the peer ended the stream
  failed,  // the connection broke; fault() has the message
};

struct IoResult {
  IoStatus status = IoStatus::again;
  std::size_t bytes = 0;
  short wait_events = 0;  // POLLIN or POLLOUT, with `again`
};

/// One thread may read while another writes. A stream owns its descriptor and never raises SIGPIPE. Only read_some(),
/// read_all(), hang_up() and write_all() block.
class ByteStream {
 public:
  ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;
  virtual ~ByteStream() = default;

  /// Reads or writes what is possible without blocking.
  virtual IoResult read_now(std::span<std::byte> into) noexcept = 0;
  virtual IoResult write_now(std::span<const std::byte> from) noexcept = 0;

  /// For poll() with POLLIN. Poll only when has_buffered() is false: an encrypted stream may hold bytes that are
  /// already decrypted.
  [[nodiscard]] virtual int fd() const noexcept = 0;
  [[nodiscard]] virtual bool has_buffered() const noexcept = 0;

  /// Tells the peer that no more bytes follow. Reading stays possible. Any thread.
  virtual void end_writing() noexcept = 0;

  /// Ends both directions and wakes a waiting thread. The descriptor itself stays open until the destructor. Any
  /// thread; repeated calls are harmless.
  virtual void close() noexcept = 0;

  /// The error message after `failed`.
  [[nodiscard]] virtual std::string fault() const = 0;

  /// Waits for at least one byte. Returns 0 when the peer ended the stream. Throws Error (lost_peer) at the deadline or
  /// on failure.
  std::size_t read_some(std::span<std::byte> into, std::int64_t deadline_ns);

  /// Fills all of `into`. Throws Error (lost_peer) at the deadline, on failure, and when the stream ends early.
  void read_all(std::span<std::byte> into, std::int64_t deadline_ns);

  /// Ends writing, then reads and drops bytes until the peer closes or the deadline passes. Closing a socket that has
  /// unread bytes resets the connection, and the peer would lose what was sent last.
  void hang_up(std::int64_t deadline_ns) noexcept;

  /// Throws Error (lost_peer) when the system has not accepted all bytes before the deadline.
  void write_all(std::span<const std::byte> from, std::int64_t deadline_ns);
};

/// Plaintext bytes over a connected socket (Unix or TCP).
class FdStream final : public ByteStream {
 public:
  /// Makes the socket non-blocking. Throws Error.
  explicit FdStream(FileDescriptor socket);

  IoResult read_now(std::span<std::byte> into) noexcept override;
  IoResult write_now(std::span<const std::byte> from) noexcept override;
  [[nodiscard]] int fd() const noexcept override { return socket_.get(); }
  [[nodiscard]] bool has_buffered() const noexcept override { return false; }
  void end_writing() noexcept override;
  void close() noexcept override;
  [[nodiscard]] std::string fault() const override;

 private:
  FileDescriptor socket_;
  std::atomic<int> errno_{0};  // either direction
};

}  // namespace framewire
