// OpenSSL's view of a socket, written so that a peer that hangs up never raises SIGPIPE (BIO_s_socket calls write()).
#pragma once

#include <openssl/bio.h>

#include <memory>

#include "transport/tls/bio_method.hpp"

namespace framewire {

/// Owned by a TlsStream; outlives the BIO that it makes.
class SocketBio {
 public:
  /// A BIO over a non-blocking socket that stays the caller's. Null when there is no memory. Once.
  BIO* open(int fd) noexcept;

  /// While reading is not allowed, the socket looks empty to OpenSSL.
  void allow_reading(bool allowed) noexcept { may_read_ = allowed; }
  /// From now on what OpenSSL writes comes to nothing.
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
