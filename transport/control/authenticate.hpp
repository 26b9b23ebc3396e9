// From a connected socket to a control channel whose far end is known.
//   Unix socket   the same user by SO_PEERCRED; with --key FILE also TLS                 auth=user control=unix, or
//   auth=psk TCP           TLS 1.3 with the shared key                                            auth=psk
//   control=tls1.3 TCP, no key   refused on both ends, on loopback too: another user could dial it      --insecure:
//   auth=none control=plain
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
  bool key_is_explicit = false;  // by --key FILE: then used over the Unix socket, too
  bool insecure = false;
  std::int64_t timeout_ns = handshake_timeout_ns;
};

struct AuthenticatedChannel {
  std::unique_ptr<MessageChannel> channel;
  std::string auth;     // "user", "psk" or "none"
  std::string control;  // "unix", "tls1.3" or "plain"
  bool is_unix = false;
};

/// Throws Error: refused (keys, the listener's own refusal, something that is no framewire, another version),
/// lost_peer. Waits up to `timeout_ns`. Any thread.
AuthenticatedChannel authenticate_dialler(DialledSocket dialled, const AuthenticateOptions& options);

/// For connections that identify() as plain_control, tls or other_version. Tells a refused dialler why. Throws Error,
/// which the owner logs: one refused connection does not end a listener. Waits up to `timeout_ns`: not on a thread that
/// serves others.
AuthenticatedChannel authenticate_listener(AcceptedSocket accepted, const AuthenticateOptions& options);

}  // namespace framewire
