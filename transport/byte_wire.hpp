// The byte transport below a tcp link: a plain socket (transport/tcp/plain_wire.hpp) or TLS
// (transport/tls/tls_wire.hpp).
#pragma once

#include <sys/uio.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

namespace framewire {

enum class WireStatus {
  moved,   // what was asked for
  again,   // nothing now
  closed,  // the peer ended the connection
  failed,  // it broke, or the received bytes are not what the peer sent
};

struct WireRead {
  WireStatus status = WireStatus::again;
  std::size_t bytes = 0;  // with `moved`: at least one
};

/// What became of bytes for the kernel.
enum class WireWrite {
  done,    // it has all of them, those of earlier calls, too
  more,    // it has some; call again with the rest
  full,    // as `more`, but only once the socket is writable
  failed,  // the connection is gone; errno is set
  /// Only write_file(): the file is too short (ENODATA) or unreadable. The connection works, but stops in the middle of
  /// a frame.
  no_file,
};

/// Both directions of one data connection. Owns the connection. One thread at a time may read, and one at a time may
/// write; they may be two different threads. Nothing here waits for the peer. Only write_file() may raise SIGPIPE, as
/// sendfile() does: its thread has to block SIGPIPE (block_sigpipe()).
class ByteWire {
 public:
  ByteWire() = default;
  ByteWire(const ByteWire&) = delete;
  ByteWire& operator=(const ByteWire&) = delete;
  virtual ~ByteWire() = default;

  /// The socket, for poll(), state queries and shutdown() only; never read or write it. After read() has returned
  /// `again`, the wire buffers nothing: when more can be read, the socket is readable.
  [[nodiscard]] virtual int fd() const noexcept = 0;

  /// Reads what one system call gives into `first`, and what has no room there into `second`. One of them may be empty.
  virtual WireRead read(std::span<std::byte> first, std::span<std::byte> second) noexcept = 0;

  /// Writes from `parts`, in order, what one system call takes, and cuts `parts` to the rest. The rest may be empty
  /// without being done: then the wire itself holds bytes. Modifies the elements of `parts`, but not the bytes they
  /// point to.
  virtual WireWrite write_some(std::span<iovec>& parts) noexcept = 0;

  /// Whether write_file() works on this connection; false where the kernel cannot encode the bytes itself, as with TLS.
  [[nodiscard]] virtual bool supports_sendfile() const noexcept { return false; }
  /// Writes what one system call takes of `left_bytes` bytes of a regular file, without copying them, and moves both
  /// numbers on. Not while write_some() is not done. The socket has to be non-blocking.
  virtual WireWrite write_file(int file, std::uint64_t& offset_bytes, std::uint64_t& left_bytes) noexcept {
    static_cast<void>(file), static_cast<void>(offset_bytes), static_cast<void>(left_bytes);
    errno = ENOSYS;
    return WireWrite::no_file;
  }

  /// Whether received bytes failed authentication. Only an encrypted wire can detect this. Any thread.
  [[nodiscard]] virtual bool saw_tampering() const noexcept { return false; }
};

[[nodiscard]] inline std::size_t size_bytes(std::span<const iovec> parts) noexcept {
  std::size_t bytes = 0;
  for (const iovec& part : parts) {
    bytes += part.iov_len;
  }
  return bytes;
}

/// Cuts `written_bytes` from the front of `parts`, and empty parts after them.
inline void drop_written(std::span<iovec>& parts, std::size_t written_bytes) noexcept {
  while (!parts.empty() && written_bytes >= parts.front().iov_len) {
    written_bytes -= parts.front().iov_len;
    parts = parts.subspan(1);
  }
  if (written_bytes > 0) {
    parts.front().iov_base = static_cast<std::byte*>(parts.front().iov_base) + written_bytes;
    parts.front().iov_len -= written_bytes;
  }
}

}  // namespace framewire
