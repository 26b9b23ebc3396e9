#include "transport/tls/tls_handshake.hpp"

#include <fmt/core.h>
#include <openssl/err.h>
#include <poll.h>

#include <array>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

// TLS_AES_128_GCM_SHA256, RFC 8446 appendix B.4. The hash of the key and of the cipher must be the same.
constexpr std::array<unsigned char, 2> cipher_id{0x13, 0x01};

using Context = std::unique_ptr<SSL_CTX, FreeSsl>;
using Session = std::unique_ptr<SSL_SESSION, FreeSsl>;

[[noreturn]] void tls_failed(std::string_view doing) {
  const unsigned long code = ERR_get_error();
  std::array<char, 160> text{};
  ERR_error_string_n(code, text.data(), text.size());
  throw Error::failed(fmt::format("cannot {}: OpenSSL says {}", doing, text.data()));
}

/// The state that the callbacks of one handshake use.
struct PskUse {
  const TlsPsk& psk;
  SocketBio& bio;
  std::string refusal{};  // a listener's reason to refuse
};

PskUse& use_of(SSL* ssl) noexcept {
  return *static_cast<PskUse*>(SSL_get_app_data(ssl));
}

/// The key in OpenSSL's form: a session that was never resumed. Null on failure.
SSL_SESSION* session_of(SSL* ssl, const Key& key) noexcept {
  const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, cipher_id.data());
  Session session(SSL_SESSION_new());
  const auto* bytes = reinterpret_cast<const unsigned char*>(key.bytes().data());
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
  const TlsPsk& psk = use_of(ssl).psk;
  *identity = reinterpret_cast<const unsigned char*>(psk.identity.data());
  *identity_bytes = psk.identity.size();
  *session = session_of(ssl, psk.key);
  return *session != nullptr ? 1 : 0;
}

FoundPsk find_key(const TlsPsk& psk, std::string_view identity) {
  if (psk.find) {
    return psk.find(identity);
  }
  return identity == psk.identity ? FoundPsk{.key = psk.key} : FoundPsk{};
}

int find_key_for(SSL* ssl, const unsigned char* identity, std::size_t identity_bytes, SSL_SESSION** session) {
  PskUse& use = use_of(ssl);
  const FoundPsk found = find_key(use.psk, {reinterpret_cast<const char*>(identity), identity_bytes});
  *session = found.key ? session_of(ssl, *found.key) : nullptr;
  if (!found.refusal.empty()) {
    use.refusal = found.refusal;
    use.bio.drop_writing();  // the refusal is sent in plaintext, without an alert before it
    return 0;
  }
  // An unknown identity is no error here: the handshake then fails by itself, because there are no certificates.
  return !found.key || *session != nullptr ? 1 : 0;
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
    // A listener without the key could offer a certificate instead, and OpenSSL accepts any by default. Verification
    // without trusted certificates refuses every one.
    SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_psk_use_session_callback(raw, use_key);
  } else {
    SSL_CTX_set_psk_find_session_callback(raw, find_key_for);
  }
  return context;
}

Error different_key(const std::string& peer) {
  return Error::refused(different_key_message).with_context(peer);
}

/// A listener that knows the identity, but has another key, sends another alert.
bool is_unknown_identity(unsigned long error) noexcept {
  return ERR_GET_REASON(error) == SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE;
}

/// Returns the poll events to wait for; 0 when the handshake is complete.
short handshake_step(SSL* ssl, const TlsSide& side) {
  ERR_clear_error();
  const int returned = SSL_do_handshake(ssl);
  if (returned == 1) {
    return 0;
  }
  const int why = SSL_get_error(ssl, returned);
  if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
    return why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
  }
  const unsigned long error = ERR_peek_last_error();
  const bool is_cut = why == SSL_ERROR_SYSCALL || ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
  ERR_clear_error();
  if (is_cut) {
    // The peer may have died; one that found the key wrong sends an alert.
    throw Error::lost_peer(side.peer + " hung up during the TLS handshake");
  }
  if (side.role == TlsRole::dialler && is_unknown_identity(error)) {
    throw Error::refused(older_listener_message).with_context(side.peer);
  }
  throw different_key(side.peer);
}

void check_result(SSL* ssl, const std::string& peer) {
  // "Reused" means that the handshake used the offered key. This check is independent of the verification above, so
  // that neither alone decides.
  const bool by_key = SSL_session_reused(ssl) == 1 && SSL_get0_peer_certificate(ssl) == nullptr;
  if (!by_key || SSL_version(ssl) != TLS1_3_VERSION) {
    throw different_key(peer);
  }
}

void wait_for_peer(const TlsSide& side, short events, std::int64_t deadline_ns) {
  std::array descriptors{pollfd{.fd = side.socket, .events = events, .revents = 0},
                         pollfd{.fd = side.cancel_fd, .events = POLLRDHUP, .revents = 0}};
  wait_until(descriptors, deadline_ns);
  if (descriptors[1].revents != 0) {
    throw Error::lost_peer("the session ended during the TLS handshake of its data connection");
  }
  // Checked also when bytes have arrived: a peer that sends them slowly gets no more time.
  if (monotonic_ns() >= deadline_ns) {
    throw Error::lost_peer(side.peer + " did not finish the TLS handshake in time");
  }
}

/// The same, but the listener's reason to refuse has precedence over OpenSSL's error.
short handshake_step(SSL* ssl, const TlsSide& side, const PskUse& use) {
  try {
    return handshake_step(ssl, side);
  } catch (const Error&) {
    if (use.refusal.empty()) {
      throw;
    }
  }
  if (use.psk.refuse) {
    use.psk.refuse(side.socket, use.refusal);
  }
  throw Error::refused(use.refusal).with_context(side.peer);
}

}  // namespace

SslPointer perform_tls_handshake(const TlsSide& side, const TlsPsk& psk, SocketBio& bio, std::int64_t deadline_ns,
                                 const TlsStream::CheckAnswer& check_answer) {
  set_non_blocking(side.socket, true);
  const Context context = make_context(side.role);
  SslPointer ssl(SSL_new(context.get()));  // holds a reference to the context
  BIO* raw_bio = ssl != nullptr ? bio.open(side.socket) : nullptr;
  if (raw_bio == nullptr) {
    tls_failed("set up TLS 1.3");
  }
  SSL_set_bio(ssl.get(), raw_bio, raw_bio);  // takes ownership
  PskUse use{.psk = psk, .bio = bio};
  SSL_set_app_data(ssl.get(), &use);
  side.role == TlsRole::dialler ? SSL_set_connect_state(ssl.get()) : SSL_set_accept_state(ssl.get());
  // An answer that is not TLS must still be in the socket when `check_answer` peeks at it.
  bio.allow_reading(!check_answer);
  while (const short events = handshake_step(ssl.get(), side, use)) {
    wait_for_peer(side, events, deadline_ns);
    if (!bio.may_read() && events == POLLIN) {
      check_answer(side.socket, deadline_ns);
      bio.allow_reading(true);
    }
  }
  check_result(ssl.get(), side.peer);
  SSL_set_app_data(ssl.get(), nullptr);
  return ssl;
}

}  // namespace framewire
