// The handshake of every TLS connection: TLS 1.3 with a pre-shared key and (EC)DHE, and nothing else.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>

#include "transport/tls/bio.hpp"
#include "transport/tls/tls_psk.hpp"
#include "transport/tls/tls_stream.hpp"

namespace framewire {

struct FreeSsl {
  void operator()(SSL* ssl) const noexcept { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
  void operator()(SSL_SESSION* session) const noexcept { SSL_SESSION_free(session); }
};
using SslPointer = std::unique_ptr<SSL, FreeSsl>;

struct TlsSide {
  int socket = -1;  // connected; the caller keeps it
  TlsRole role = TlsRole::dialler;
  std::string peer;    // names the other side in errors
  int cancel_fd = -1;  // a session's control socket: when it closes, the handshake ends too
};

/// Performs the handshake until the deadline; makes the socket non-blocking. When it returns, both sides have proven
/// that they know the key, and nothing after the handshake has been read. `bio` is not open yet; it must outlive the
/// returned object, or its use for I/O. Any thread. Throws Error as TlsStream does.
SslPointer perform_tls_handshake(const TlsSide& side, const TlsPsk& psk, SocketBio& bio, std::int64_t deadline_ns,
                                 const TlsStream::CheckAnswer& check_answer = nullptr);

}  // namespace framewire
