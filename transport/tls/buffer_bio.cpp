#include "transport/tls/buffer_bio.hpp"

#include <algorithm>
#include <cstring>

namespace framewire {

namespace {

BufferBio& buffers_of(BIO* bio) noexcept {
  return *static_cast<BufferBio*>(BIO_get_data(bio));
}

int write_bio(BIO* bio, const char* data, std::size_t size_bytes, std::size_t* written) {
  BIO_clear_retry_flags(bio);
  if (!buffers_of(bio).write(std::as_bytes(std::span(data, size_bytes)))) {
    return 0;
  }
  *written = size_bytes;
  return 1;
}

int read_bio(BIO* bio, char* data, std::size_t size_bytes, std::size_t* read) {
  BIO_clear_retry_flags(bio);
  *read = buffers_of(bio).read(std::as_writable_bytes(std::span(data, size_bytes)));
  if (*read == 0) {
    BIO_set_retry_read(bio);
    return 0;
  }
  return 1;
}

long control_bio(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
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
  }
  return taken;
}

BIO* BufferBio::open() noexcept {
  return open_bio(method_, {"framewire buffers", write_bio, read_bio, control_bio}, this);
}

}  // namespace framewire
