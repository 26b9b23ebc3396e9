// BIOs of our own, by which OpenSSL reads and writes: over a socket, and over two buffers.
#pragma once

#include <openssl/bio.h>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace framewire {

struct FreeBioMethod {
  void operator()(BIO_METHOD* method) const noexcept { BIO_meth_free(method); }
};
/// Must outlive every BIO that uses it.
using BioMethod = std::unique_ptr<BIO_METHOD, FreeBioMethod>;

/// A BIO over a socket that never raises SIGPIPE when the peer closes. (BIO_s_socket calls write(), which does.) Owned
/// by a TlsStream; must outlive the BIO that open() returns.
class SocketBio {
 public:
  /// A BIO over a non-blocking socket, which the caller keeps. Call it once. Null when there is no memory.
  BIO* open(int fd) noexcept;

  /// While reading is not allowed, the socket looks empty to OpenSSL.
  void allow_reading(bool allowed) noexcept { may_read_ = allowed; }
  /// From now on, drops the bytes that OpenSSL writes.
  void drop_writing() noexcept { may_write_ = false; }
  [[nodiscard]] bool may_write() const noexcept { return may_write_; }
  [[nodiscard]] bool may_read() const noexcept { return may_read_; }
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  BioMethod method_;
  int fd_ = -1;
  bool may_read_ = true;
  bool may_write_ = true;
};

/// A BIO over two buffers instead of a socket. The owner makes the system calls, with sizes of its choice and without
/// holding the lock that guards the SSL object. Must outlive the BIO that open() returns. The reading thread owns the
/// received bytes; the writing thread owns the sealed ones. OpenSSL touches each buffer only in calls by its own
/// thread.
class BufferBio {
 public:
  /// Holds up to `max_sealed_bytes`. Throws std::bad_alloc.
  explicit BufferBio(std::size_t max_sealed_bytes)
      : sealed_(std::make_unique_for_overwrite<std::byte[]>(max_sealed_bytes)), room_bytes_(max_sealed_bytes) {}

  /// Creates the BIO. Call it once. Null when there is no memory.
  BIO* open() noexcept;

  /// The bytes that OpenSSL reads next. The caller keeps them until all are read.
  void bring(std::span<const std::byte> came) noexcept { came_ = came; }
  /// Whether OpenSSL has wanted bytes since the last call and got none. The reading thread.
  [[nodiscard]] bool take_ran_dry() noexcept { return std::exchange(ran_dry_, false); }

  /// The bytes that OpenSSL has written since clear_sealed(), for the socket.
  [[nodiscard]] std::span<const std::byte> sealed() const noexcept { return {sealed_.get(), sealed_bytes_}; }
  [[nodiscard]] std::size_t room_bytes() const noexcept { return room_bytes_ - sealed_bytes_; }
  void clear_sealed() noexcept { sealed_bytes_ = 0; }

  /// Whether OpenSSL may write. It may want to while it reads (an alert, the answer to a key update). Such bytes would
  /// land between those that another thread is sending, so the write fails instead: framewire needs none of them.
  void allow_writing(bool allowed) noexcept { may_write_ = allowed; }

  /// OpenSSL calls these.
  bool write(std::span<const std::byte> bytes) noexcept;
  std::size_t read(std::span<std::byte> into) noexcept;

 private:
  BioMethod method_;
  std::span<const std::byte> came_;
  bool ran_dry_ = false;
  std::unique_ptr<std::byte[]> sealed_;
  std::size_t sealed_bytes_ = 0;
  std::size_t room_bytes_;
  bool may_write_ = false;
};

}  // namespace framewire
