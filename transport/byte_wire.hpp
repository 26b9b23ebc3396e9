// What the bytes of a tcp link go through: the socket as it is (transport/tcp/plain_wire.hpp), or TLS on it
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
  again,   // nothing now; only of read_now()
  closed,  // the peer ended the connection
  failed,  // it broke, or what came is not what the peer sent
};

struct WireRead {
  WireStatus status = WireStatus::again;
  std::size_t bytes = 0;  // with `moved`: at least one
};

enum class FileWrite {
  done,
  no_connection,  // as with write()
  no_file,        // it is shorter (ENODATA) or cannot be read: the connection is well, but in the middle of a frame
};

/// Both directions of one data connection, which it owns. One thread at a time reads, and one at a time writes; the two
/// may be two. write_file() may raise SIGPIPE, as sendfile() does, which its thread has to refuse
/// (block_sigpipe()); nothing else does. Whoever waits is woken by shutting fd() down, from any thread.
class ByteWire {
 public:
  ByteWire() = default;
  ByteWire(const ByteWire&) = delete;
  ByteWire& operator=(const ByteWire&) = delete;
  virtual ~ByteWire() = default;

  /// The socket: to be watched, asked for its state and shut down, never read or written. Once read_now() has said
  /// `again`, the wire holds nothing back: the socket is readable when more can be read.
  [[nodiscard]] virtual int fd() const noexcept = 0;

  /// Waits for what comes, and takes at most `into`.
  virtual WireRead read(std::span<std::byte> into) noexcept = 0;
  /// Waits until `into` is full: never `again`.
  virtual WireStatus fill(std::span<std::byte> into) noexcept = 0;
  /// Never waits for the peer.
  virtual WireRead read_now(std::span<std::byte> into) noexcept = 0;

  /// Writes all of `parts` in their order, and waits as long as the peer does not read. Uses `parts` up; only reads
  /// what they name. False, with errno, when the connection is gone.
  virtual bool write(std::span<iovec> parts) noexcept = 0;
  /// Writes all or, without waiting, fails: then the connection is at its end.
  virtual bool write_now(std::span<const std::byte> bytes) noexcept = 0;

  /// Whether write_file() can be used: it cannot where the kernel does not know how the bytes are to travel.
  [[nodiscard]] virtual bool supports_sendfile() const noexcept { return false; }
  /// Writes so many bytes that stand in a regular file, without a copy of them. With errno where they are not `done`.
  virtual FileWrite write_file(int file, std::uint64_t offset_bytes, std::uint64_t bytes) noexcept {
    static_cast<void>(file), static_cast<void>(offset_bytes), static_cast<void>(bytes);
    errno = ENOSYS;
    return FileWrite::no_file;
  }

  /// Whether bytes came that the peer has not sent so; only an encrypted wire can know. Any thread.
  [[nodiscard]] virtual bool saw_tampering() const noexcept { return false; }
};

}  // namespace framewire
