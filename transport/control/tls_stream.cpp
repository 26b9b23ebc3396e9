#include "transport/control/tls_stream.hpp"

#include <fmt/core.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <limits>
#include <mutex>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "transport/control/socket_bio.hpp"

namespace framewire {

namespace {

constexpr std::string_view psk_identity = "framewire-1";
// TLS_AES_128_GCM_SHA256, RFC 8446 appendix B.4. The hash of the key and of the cipher must be the same.
constexpr std::array<unsigned char, 2> cipher_id{0x13, 0x01};

struct FreeSsl {
  void operator()(SSL* ssl) const noexcept { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
  void operator()(SSL_SESSION* session) const noexcept { SSL_SESSION_free(session); }
};
using Context = std::unique_ptr<SSL_CTX, FreeSsl>;
using Session = std::unique_ptr<SSL_SESSION, FreeSsl>;

[[noreturn]] void tls_failed(std::string_view doing) {
  const unsigned long code = ERR_get_error();
  std::array<char, 160> text{};
  ERR_error_string_n(code, text.data(), text.size());
  throw Error::failed(fmt::format("cannot {}: OpenSSL says {}", doing, text.data()));
}

/// The key as OpenSSL takes it: as a session that was never resumed. Null when it will not.
SSL_SESSION* session_of(SSL* ssl) noexcept {
  const auto* key = static_cast<const Key*>(SSL_get_app_data(ssl));
  const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, cipher_id.data());
  Session session(SSL_SESSION_new());
  const auto* bytes = reinterpret_cast<const unsigned char*>(key->bytes().data());
  if (cipher == nullptr || session == nullptr ||
      SSL_SESSION_set1_master_key(session.get(), bytes, Key::size_bytes) != 1 ||
      SSL_SESSION_set_cipher(session.get(), cipher) != 1 ||
      SSL_SESSION_set_protocol_version(session.get(), TLS1_3_VERSION) != 1) {
    return nullptr;
  }
  return session.release();
}

int use_key(SSL* ssl, const EVP_MD* /*hash*/, const unsigned char** identity, std::size_t* identity_bytes,
            SSL_SESSION** session) {
  *identity = reinterpret_cast<const unsigned char*>(psk_identity.data());
  *identity_bytes = psk_identity.size();
  *session = session_of(ssl);
  return *session != nullptr ? 1 : 0;
}

int find_key_for(SSL* ssl, const unsigned char* identity, std::size_t identity_bytes, SSL_SESSION** session) {
  const bool is_ours = std::string_view(reinterpret_cast<const char*>(identity), identity_bytes) == psk_identity;
  *session = is_ours ? session_of(ssl) : nullptr;
  // An unknown identity is no error here: without certificates the handshake then fails by itself.
  return !is_ours || *session != nullptr ? 1 : 0;
}

Context make_context(TlsRole role) {
  Context context(SSL_CTX_new(role == TlsRole::dialler ? TLS_client_method() : TLS_server_method()));
  SSL_CTX* raw = context.get();
  if (raw == nullptr || SSL_CTX_set_min_proto_version(raw, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(raw, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(raw, "TLS_AES_128_GCM_SHA256") != 1 ||
      SSL_CTX_set1_groups_list(raw, "X25519:P-256") != 1 || SSL_CTX_set_num_tickets(raw, 0) != 1) {
    tls_failed("set up TLS 1.3");
  }
  SSL_CTX_set_options(raw, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  if (role == TlsRole::dialler) {
    // A listener without the key could offer a certificate instead, and OpenSSL's default is to take any. Asking for
    // verification with nothing to trust refuses every one.
    SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_psk_use_session_callback(raw, use_key);
  } else {
    SSL_CTX_set_psk_find_session_callback(raw, find_key_for);
  }
  return context;
}

Error different_key(const std::string& peer) {
  return Error::refused(different_key_sentence).with_context(peer);
}

int clamp_bytes(std::size_t bytes) noexcept {
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
  return static_cast<int>(bytes < most ? bytes : most);
}

}  // namespace

struct TlsStream::State {
  FileDescriptor socket;
  std::string peer;
  Key key;  // only for the handshake
  SocketBio bio;
  Context context;
  std::unique_ptr<SSL, FreeSsl> ssl;
  mutable std::mutex mutex;  // an SSL object takes one call at a time
  std::string fault;

  void prepare(TlsRole role);
  void handshake(std::int64_t deadline_ns, const LookAtAnswer& look);
  short handshake_step();
  void check_result();
  StreamResult result_of(int returned, std::string_view doing) noexcept;
};

void TlsStream::State::prepare(TlsRole role) {
  set_non_blocking(socket.get(), true);
  context = make_context(role);
  ssl.reset(SSL_new(context.get()));
  BIO* raw_bio = ssl != nullptr ? bio.open(socket.get()) : nullptr;
  if (raw_bio == nullptr) {
    tls_failed("set up TLS 1.3");
  }
  SSL_set_bio(ssl.get(), raw_bio, raw_bio);  // takes it over
  SSL_set_app_data(ssl.get(), &key);
  role == TlsRole::dialler ? SSL_set_connect_state(ssl.get()) : SSL_set_accept_state(ssl.get());
}

void TlsStream::State::handshake(std::int64_t deadline_ns, const LookAtAnswer& look) {
  // An answer that is no TLS must still stand in the socket when `look` comes to it.
  bio.allow_reading(!look);
  while (const short events = handshake_step()) {
    if (!wait_for(socket.get(), events, deadline_ns)) {
      throw Error::lost_peer(peer + " did not finish the TLS handshake in time");
    }
    if (!bio.may_read() && events == POLLIN) {
      look(socket.get(), deadline_ns);
      bio.allow_reading(true);
    }
  }
  check_result();
  key = Key{};
}

/// Returns what to wait for, 0 when done.
short TlsStream::State::handshake_step() {
  ERR_clear_error();
  const int returned = SSL_do_handshake(ssl.get());
  if (returned == 1) {
    return 0;
  }
  const int why = SSL_get_error(ssl.get(), returned);
  if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
    return why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
  }
  const bool is_cut =
      why == SSL_ERROR_SYSCALL || ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
  ERR_clear_error();
  if (is_cut) {
    // It may have died; a peer that found the key wrong sends an alert.
    throw Error::lost_peer(peer + " hung up during the TLS handshake");
  }
  throw different_key(peer);
}

void TlsStream::State::check_result() {
  // "Reused" is OpenSSL's word for: the handshake rests on the key that was offered. Checked apart from the
  // verification above, so that neither alone decides.
  const bool by_key = SSL_session_reused(ssl.get()) == 1 && SSL_get0_peer_certificate(ssl.get()) == nullptr;
  if (!by_key || SSL_version(ssl.get()) != TLS1_3_VERSION) {
    throw different_key(peer);
  }
}

StreamResult TlsStream::State::result_of(int returned, std::string_view doing) noexcept {
  if (returned > 0) {
    return {.status = StreamStatus::moved, .bytes = static_cast<std::size_t>(returned)};
  }
  const int error_number = errno;
  switch (SSL_get_error(ssl.get(), returned)) {
    case SSL_ERROR_WANT_READ:
      return {.status = StreamStatus::again, .wait_events = POLLIN};
    case SSL_ERROR_WANT_WRITE:
      return {.status = StreamStatus::again, .wait_events = POLLOUT};
    case SSL_ERROR_ZERO_RETURN:
      return {.status = StreamStatus::closed};
    case SSL_ERROR_SYSCALL:
      fault = fmt::format("the connection broke while {}: {}", doing, errno_text(error_number));
      break;
    default:
      fault = fmt::format("the encrypted connection ended in the middle while {}", doing);
  }
  ERR_clear_error();
  return {.status = StreamStatus::failed};
}

TlsStream::TlsStream(FileDescriptor socket, TlsRole role, const Key& key, std::string peer, std::int64_t deadline_ns,
                     const LookAtAnswer& look)
    : state_(std::make_unique<State>()) {
  state_->socket = std::move(socket);
  state_->key = key;
  state_->peer = std::move(peer);
  state_->prepare(role);
  state_->handshake(deadline_ns, look);
}

TlsStream::~TlsStream() = default;

StreamResult TlsStream::read_now(std::span<std::byte> into) noexcept {
  const std::lock_guard lock(state_->mutex);
  ERR_clear_error();
  errno = 0;
  return state_->result_of(SSL_read(state_->ssl.get(), into.data(), clamp_bytes(into.size())), "reading");
}

StreamResult TlsStream::write_now(std::span<const std::byte> from) noexcept {
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
