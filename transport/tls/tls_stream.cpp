#include "transport/tls/tls_stream.hpp"

#include <fmt/core.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <limits>
#include <mutex>
#include <string_view>

#include "base/error.hpp"
#include "transport/address.hpp"
#include "transport/tls/bio.hpp"
#include "transport/tls/tls_handshake.hpp"

namespace framewire {

namespace {

/// Decided by the dialled address, which nobody on the network path can change.
bool leads_to_another_machine(int connected_fd) noexcept {
  const auto peer = peer_of(connected_fd);
  return peer && (peer->family() == AF_INET || peer->family() == AF_INET6) && !is_this_host(*peer);
}

int clamp_bytes(std::size_t bytes) noexcept {
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
  return static_cast<int>(bytes < most ? bytes : most);
}

}  // namespace

struct TlsStream::State {
  FileDescriptor socket;
  SocketBio bio;
  SslPointer ssl;
  mutable std::mutex mutex;  // an SSL object allows one call at a time
  std::string fault;

  IoResult result_of(int returned, std::string_view doing) noexcept;
};

IoResult TlsStream::State::result_of(int returned, std::string_view doing) noexcept {
  if (returned > 0) {
    return {.status = IoStatus::moved, .bytes = static_cast<std::size_t>(returned)};
  }
  const int error_number = errno;
  switch (SSL_get_error(ssl.get(), returned)) {
    case SSL_ERROR_WANT_READ:
      return {.status = IoStatus::again, .wait_events = POLLIN};
    case SSL_ERROR_WANT_WRITE:
      return {.status = IoStatus::again, .wait_events = POLLOUT};
    case SSL_ERROR_ZERO_RETURN:
      return {.status = IoStatus::closed};
    case SSL_ERROR_SYSCALL:
      fault = fmt::format("the connection broke while {}: {}", doing, errno_text(error_number));
      break;
    default:
      fault = fmt::format("the encrypted connection ended in the middle while {}", doing);
  }
  ERR_clear_error();
  return {.status = IoStatus::failed};
}

TlsStream::TlsStream(FileDescriptor socket, TlsRole role, const Key& key, std::string peer, std::int64_t deadline_ns,
                     const CheckAnswer& check_answer, const RefuseOffer& refuse)
    : state_(std::make_unique<State>()) {
  state_->socket = std::move(socket);
  const TlsSide side{.socket = state_->socket.get(), .role = role, .peer = std::move(peer)};
  const TlsPsk psk = role == TlsRole::dialler
                         ? offer_shared_key(key, leads_to_another_machine(side.socket))
                         : TlsPsk{.identity = {},
                                  .key = {},
                                  .find = [&key](auto identity) { return find_shared_key(key, identity); },
                                  .refuse = refuse};
  state_->ssl = perform_tls_handshake(side, psk, state_->bio, deadline_ns, check_answer);
}

TlsStream::~TlsStream() = default;

IoResult TlsStream::read_now(std::span<std::byte> into) noexcept {
  const std::lock_guard lock(state_->mutex);
  ERR_clear_error();
  errno = 0;
  return state_->result_of(SSL_read(state_->ssl.get(), into.data(), clamp_bytes(into.size())), "reading");
}

IoResult TlsStream::write_now(std::span<const std::byte> from) noexcept {
  const std::lock_guard lock(state_->mutex);
  ERR_clear_error();
  errno = 0;
  return state_->result_of(SSL_write(state_->ssl.get(), from.data(), clamp_bytes(from.size())), "writing");
}

int TlsStream::fd() const noexcept {
  return state_->socket.get();
}

bool TlsStream::has_buffered() const noexcept {
  const std::lock_guard lock(state_->mutex);
  return SSL_pending(state_->ssl.get()) > 0;
}

void TlsStream::end_writing() noexcept {
  const std::lock_guard lock(state_->mutex);
  ERR_clear_error();
  SSL_shutdown(state_->ssl.get());
  ERR_clear_error();
  ::shutdown(state_->socket.get(), SHUT_WR);
}

void TlsStream::close() noexcept {
  const std::lock_guard lock(state_->mutex);
  ERR_clear_error();
  SSL_shutdown(state_->ssl.get());
  ERR_clear_error();
  ::shutdown(state_->socket.get(), SHUT_RDWR);
}

std::string TlsStream::fault() const {
  const std::lock_guard lock(state_->mutex);
  return state_->fault;
}

}  // namespace framewire
