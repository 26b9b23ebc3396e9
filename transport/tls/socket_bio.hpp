// A BIO over a socket that never raises SIGPIPE when the peer closes. (BIO_s_socket calls write(), which does.)
#pragma once

#include <openssl/bio.h>

#include <memory>

#include "transport/tls/bio_method.hpp"

namespace framewire {

/// Owned by a TlsStream; must outlive the BIO that open() returns.
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

}  // namespace framewire
