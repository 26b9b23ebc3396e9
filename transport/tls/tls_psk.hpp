// The pre-shared key of one TLS handshake: the identity by which a dialler offers it, and how a listener finds it.
// docs/wire.md, "The key of a control channel", has the bytes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "transport/tls/key.hpp"

namespace framewire {

/// A listener's answer to an offered identity: a key; or neither member, when it does not know the identity; or the
/// reason for a refusal, which the dialler is told, too.
struct FoundPsk {
  std::optional<Key> key;
  std::string refusal{};
};

struct TlsPsk {
  std::string identity;  // the dialler's offer; a listener without `find` accepts only this one
  Key key;
  std::function<FoundPsk(std::string_view identity)> find{};  // for a listener; does not throw
  // For a listener whose answer is `refusal`: tells the dialler in plaintext over the socket, and throws the same.
  std::function<void(int fd, const std::string& reason)> refuse{};
};

/// For a data connection; no other connection has `key`.
TlsPsk psk_of_data(const Key& key);

/// The dialler's offer of the shared key. Every connection derives its own key, from the dialler's machine and whether
/// it wants to reach another machine. So nobody can redirect a machine's connection to itself (RFC 9257, section 4.1,
/// the "Selfie" attack). Throws Error.
TlsPsk offer_shared_key(const Key& shared, bool is_to_another_machine);

/// The listener's part of offer_shared_key(). Does not throw.
FoundPsk find_shared_key(const Key& shared, std::string_view identity) noexcept;

}  // namespace framewire
