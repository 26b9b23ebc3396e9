#include "transport/session/endpoint.hpp"

namespace framewire {

AuthenticateOptions authentication_of(const EndpointOptions& endpoint) {
  AuthenticateOptions options;
  options.key_is_explicit = endpoint.key_file.has_value();
  options.insecure = endpoint.insecure;
  if (!endpoint.insecure || options.key_is_explicit) {
    options.key = find_key(endpoint.key_file);
  }
  return options;
}

ListenOptions listening_of(const EndpointOptions& endpoint, const AuthenticateOptions& authentication) {
  return {.at = endpoint.listen.value_or(HostPort{}),
          .has_key = authentication.key.has_value(),
          .insecure = endpoint.insecure};
}

}  // namespace framewire
