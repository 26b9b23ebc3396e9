// From what the command line says of an endpoint to what listening and authenticating need.
#pragma once

#include "transport/control/authenticate.hpp"
#include "transport/control/listener.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/session/door.hpp"

namespace framewire {

/// Loads the key (--key FILE, or the default one if it is there and --insecure was not said). Throws Error.
AuthenticateOptions authentication_of(const EndpointOptions& endpoint);

/// Whether a listener takes RDMA connections.
RdmaListening rdma_listening_of(const EndpointOptions& endpoint) noexcept;

/// Where to listen.
ListenOptions listening_of(const EndpointOptions& endpoint, const AuthenticateOptions& authentication);

}  // namespace framewire
