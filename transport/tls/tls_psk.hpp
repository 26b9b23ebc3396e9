// The pre-shared key of one TLS handshake: under which name a dialler offers it, and how a listener finds it.
// docs/wire.md, "The key of a control channel", has the bytes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "transport/tls/key.hpp"

namespace framewire {

/// What a listener makes of an identity that is offered: the key; neither, where it means nothing here; or why it is
/// refused, as a sentence that the dialler hears, too.
struct FoundPsk {
  std::optional<Key> key;
  std::string why_not{};
};

struct TlsPsk {
  std::string identity;  // what a dialler offers; a listener without `find` takes this one alone
  Key key;
  std::function<FoundPsk(std::string_view identity)> find{};  // a listener's. Throws nothing
  // A listener's, where the answer is `why_not`: says it to the dialler over the socket, in plain, and throws the same.
  std::function<void(int fd, const std::string& why_not)> refuse{};
};

/// For a data connection: `key` belongs to it alone.
TlsPsk psk_of_data(const Key& key);

/// What a dialler makes of the key that it shares with others. Every connection has a key of its own, which depends on
/// where the dialler is and whether it wants to reach another machine: so no machine can be led to itself, whatever
/// somebody does to the connection on its way (RFC 9257, section 4.1, the "Selfie" attack). Throws Error.
TlsPsk offer_shared_key(const Key& shared, bool is_to_another_machine);

/// The listener's side of it. Throws nothing.
FoundPsk find_shared_key(const Key& shared, std::string_view identity) noexcept;

}  // namespace framewire
