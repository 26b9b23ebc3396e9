// From what the command line says of an endpoint to what listening and authenticating need.
#pragma once

#include <vector>

#include "transport/control/authenticate.hpp"
#include "transport/control/listener.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/session/session_acceptor.hpp"

namespace framewire {

/// Loads the key (--key FILE, or the default one if it is there and --insecure was not said). Throws Error.
AuthenticateOptions authentication_of(const EndpointOptions& endpoint);

/// The same, for a dialler who gives up at `give_up_ns`: somebody who takes the connection and says nothing must not
/// outlast that by far.
AuthenticateOptions with_deadline(AuthenticateOptions options, std::int64_t give_up_ns) noexcept;

/// What this end may use, best first: what --transport says and, with --encrypt, of that what can be encrypted. Throws
/// Error (usage) where nothing is left.
std::vector<LinkKind> usable_links(const EndpointOptions& endpoint);

/// Whether a listener takes RDMA connections.
RdmaListening rdma_listening_of(const EndpointOptions& endpoint) noexcept;

/// For an end that dials. Throws Error (failed) where --transport leaves nothing but rdma and there is no device.
void require_rdma_where_asked(const EndpointOptions& endpoint);

/// Where to listen.
ListenOptions listening_of(const EndpointOptions& endpoint, const AuthenticateOptions& authentication);

}  // namespace framewire
