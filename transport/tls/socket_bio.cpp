#include "transport/tls/socket_bio.hpp"

#include <sys/socket.h>

#include <cerrno>

#include "base/socket_wait.hpp"

namespace framewire {

namespace {

const SocketBio& socket_of(BIO* bio) noexcept {
  return *static_cast<const SocketBio*>(BIO_get_data(bio));
}

int write_bio(BIO* bio, const char* data, std::size_t size_bytes, std::size_t* written) {
  BIO_clear_retry_flags(bio);
  if (!socket_of(bio).may_write()) {
    *written = size_bytes;
    return 1;
  }
  const ssize_t sent = ::send(socket_of(bio).fd(), data, size_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) {
    if (is_passing(errno)) {
      BIO_set_retry_write(bio);
    }
    return 0;
  }
  *written = static_cast<std::size_t>(sent);
  return 1;
}

int read_bio(BIO* bio, char* data, std::size_t size_bytes, std::size_t* read) {
  BIO_clear_retry_flags(bio);
  if (!socket_of(bio).may_read()) {
    BIO_set_retry_read(bio);
    return 0;
  }
  const ssize_t got = ::recv(socket_of(bio).fd(), data, size_bytes, MSG_DONTWAIT);
  if (got <= 0) {
    if (got < 0 && is_passing(errno)) {
      BIO_set_retry_read(bio);
    } else if (got == 0) {
      BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    }
    return 0;
  }
  *read = static_cast<std::size_t>(got);
  return 1;
}

long control_bio(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
  switch (command) {
    case BIO_CTRL_FLUSH:
      return 1;
    case BIO_CTRL_EOF:
      return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
    default:
      return 0;
  }
}

}  // namespace

BIO* SocketBio::open(int fd) noexcept {
  fd_ = fd;
  return open_bio(method_, {"framewire socket", write_bio, read_bio, control_bio}, this);
}

}  // namespace framewire
