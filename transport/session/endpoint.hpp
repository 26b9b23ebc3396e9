// Converts an endpoint's options to the settings for listening and authenticating.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "transport/control/authenticate.hpp"
#include "transport/control/listener.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/session/session_acceptor.hpp"

namespace framewire {

/// Where the key of authentication_of() is, if it is there: key_file, else the default key. Nothing if no key is read.
std::optional<std::string> key_file_of(const EndpointOptions& endpoint);

/// Loads the key: that of key_file, or the default key if it exists and `insecure` is not set. Throws Error.
AuthenticateOptions authentication_of(const EndpointOptions& endpoint);

/// The options with a deadline soon after `give_up_ns`: a listener that accepts and then stays silent must not delay
/// the dialler much longer.
AuthenticateOptions with_deadline(AuthenticateOptions options, std::int64_t give_up_ns) noexcept;

/// The links that this side may use, best first: those of allowed_links, and with `encrypt` only those that can
/// encrypt. Throws Error (usage) when none is left.
std::vector<LinkKind> usable_links(const EndpointOptions& endpoint);

/// The links for which a listener also listens in their own way.
std::vector<LinkListening> link_listening_of(const EndpointOptions& endpoint);

/// Throws Error (failed) when allowed_links is one link only and this machine lacks what it needs.
void require_link_where_asked(const EndpointOptions& endpoint);

/// Where to listen.
ListenOptions listening_of(const EndpointOptions& endpoint, const AuthenticateOptions& authentication);

}  // namespace framewire
