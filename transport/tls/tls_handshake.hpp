// The beginning of every TLS connection here: TLS 1.3 with a pre-shared key and (EC)DHE, and nothing else.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>

#include "transport/tls/socket_bio.hpp"
#include "transport/tls/tls_psk.hpp"
#include "transport/tls/tls_stream.hpp"

namespace framewire {

struct FreeSsl {
  void operator()(SSL* ssl) const noexcept { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
  void operator()(SSL_SESSION* session) const noexcept { SSL_SESSION_free(session); }
};
using SslPointer = std::unique_ptr<SSL, FreeSsl>;

struct TlsEnd {
  int socket = -1;  // connected; stays the caller's
  TlsRole role = TlsRole::dialler;
  std::string peer;    // names the far end in errors
  int cancel_fd = -1;  // the socket of a session whose end also ends the handshake
};

/// Shakes hands until the deadline; makes the socket non-blocking. Both ends have proven the key when it returns, and
/// nothing that follows the handshake has been read. `bio`, which is not open yet, outlives what is returned, or its
/// use for reading and writing. Any thread. Throws Error as TlsStream does.
SslPointer perform_tls_handshake(const TlsEnd& end, const TlsPsk& psk, SocketBio& bio, std::int64_t deadline_ns,
                                 const TlsStream::CheckAnswer& check_answer = nullptr);

}  // namespace framewire
