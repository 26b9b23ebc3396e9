#include "transport/tls/bio.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/wait.hpp"

namespace framewire {

namespace {

struct BioFunctions {
  const char* name;
  int (*write)(BIO*, const char*, std::size_t, std::size_t*);
  int (*read)(BIO*, char*, std::size_t, std::size_t*);
  long (*control)(BIO*, int, long, void*);
};

/// Creates `method`, and a BIO of it whose functions find `data`. Null when there is no memory.
BIO* open_bio(BioMethod& method, const BioFunctions& functions, void* data) noexcept {
  method.reset(BIO_meth_new(BIO_TYPE_SOURCE_SINK, functions.name));
  if (method == nullptr || BIO_meth_set_write_ex(method.get(), functions.write) != 1 ||
      BIO_meth_set_read_ex(method.get(), functions.read) != 1 ||
      BIO_meth_set_ctrl(method.get(), functions.control) != 1) {
    return nullptr;
  }
  BIO* bio = BIO_new(method.get());
  if (bio != nullptr) {
    BIO_set_data(bio, data);
    BIO_set_init(bio, 1);
  }
  return bio;
}

}  // namespace

// ---- Over a socket ----

namespace {

const SocketBio& socket_of(BIO* bio) noexcept {
  return *static_cast<const SocketBio*>(BIO_get_data(bio));
}

int write_socket(BIO* bio, const char* data, std::size_t size_bytes, std::size_t* written) {
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

int read_socket(BIO* bio, char* data, std::size_t size_bytes, std::size_t* read) {
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

long control_socket(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
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
  return open_bio(method_, {"framewire socket", write_socket, read_socket, control_socket}, this);
}

// ---- Over two buffers ----

namespace {

BufferBio& buffers_of(BIO* bio) noexcept {
  return *static_cast<BufferBio*>(BIO_get_data(bio));
}

int write_buffers(BIO* bio, const char* data, std::size_t size_bytes, std::size_t* written) {
  BIO_clear_retry_flags(bio);
  if (!buffers_of(bio).write(std::as_bytes(std::span(data, size_bytes)))) {
    return 0;
  }
  *written = size_bytes;
  return 1;
}

int read_buffers(BIO* bio, char* data, std::size_t size_bytes, std::size_t* read) {
  BIO_clear_retry_flags(bio);
  *read = buffers_of(bio).read(std::as_writable_bytes(std::span(data, size_bytes)));
  if (*read == 0) {
    BIO_set_retry_read(bio);
    return 0;
  }
  return 1;
}

long control_buffers(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

}  // namespace

bool BufferBio::write(std::span<const std::byte> bytes) noexcept {
  if (!may_write_ || bytes.size() > room_bytes()) {
    return false;
  }
  std::memcpy(sealed_.get() + sealed_bytes_, bytes.data(), bytes.size());
  sealed_bytes_ += bytes.size();
  return true;
}

std::size_t BufferBio::read(std::span<std::byte> into) noexcept {
  const std::size_t taken = std::min(into.size(), came_.size());
  if (taken > 0) {
    std::memcpy(into.data(), came_.data(), taken);
    came_ = came_.subspan(taken);
  } else {
    ran_dry_ = true;
  }
  return taken;
}

BIO* BufferBio::open() noexcept {
  return open_bio(method_, {"framewire buffers", write_buffers, read_buffers, control_buffers}, this);
}

}  // namespace framewire
