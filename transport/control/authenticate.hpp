// Turns a connected socket into a control channel whose peer is authenticated.
//
// clang-format off
//
//   connection                   how the peer is checked                       reported as
//   ----------                   -----------------------                       -----------
//   Unix socket                  same user, by SO_PEERCRED                     auth=user control=unix
//   Unix socket, --key FILE      same user, and TLS 1.3 with the shared key    auth=psk  control=tls1.3
//   TCP, a key                   TLS 1.3 with the shared key                   auth=psk  control=tls1.3
//   TCP, no key                  both sides refuse the connection              -
//   TCP, no key, --insecure      not checked                                   auth=none control=plain
//
// clang-format on
//
// TCP without a key is refused on loopback, too: another user of this machine could connect.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "transport/control/dial.hpp"
#include "transport/control/key_file.hpp"
#include "transport/control/listener.hpp"
#include "transport/control/message_channel.hpp"
#include "transport/control/preamble.hpp"

namespace framewire {

struct AuthenticateOptions {
  std::optional<Key> key;
  bool uses_key_on_unix = false;  // also where the user's identity would do
  bool insecure = false;
  std::int64_t timeout_ns = handshake_timeout_ns;
};

struct AuthenticatedChannel {
  std::unique_ptr<MessageChannel> channel;
  std::string auth;     // "user", "psk" or "none"
  std::string control;  // "unix", "tls1.3" or "plain"
  bool is_unix = false;
};

/// Throws Error: refused (different keys, the listener refuses, the listener is not framewire or has another version),
/// lost_peer. Waits up to `timeout_ns`. Any thread.
AuthenticatedChannel authenticate_dialler(DialledSocket dialled, const AuthenticateOptions& options);

/// For connections that identify() returns plain_control, tls or other_version for. Tells a refused dialler why. Throws
/// Error, which the owner logs: a refused connection does not end a listener. Waits up to `timeout_ns`, so do not call
/// it on a thread that serves other connections.
AuthenticatedChannel authenticate_listener(AcceptedSocket accepted, const AuthenticateOptions& options);

}  // namespace framewire
