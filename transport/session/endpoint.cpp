#include "transport/session/endpoint.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "transport/links.hpp"

namespace framewire {

std::optional<std::string> key_file_of(const EndpointOptions& endpoint) {
  if (endpoint.key_file || endpoint.insecure || endpoint.one_time_key) {
    return endpoint.key_file;
  }
  try {
    return default_key_path();
  } catch (const Error&) {
    return std::nullopt;  // no home: who needs the key says so
  }
}

AuthenticateOptions authentication_of(const EndpointOptions& endpoint) {
  AuthenticateOptions options;
  options.uses_key_on_unix = endpoint.key_file.has_value() || endpoint.one_time_key.has_value();
  options.insecure = endpoint.insecure;
  if (endpoint.one_time_key) {
    options.key = Key(endpoint.one_time_key->bytes());
  } else if (!endpoint.insecure || options.uses_key_on_unix) {
    options.key = find_key(endpoint.key_file);
  }
  return options;
}

AuthenticateOptions with_deadline(AuthenticateOptions options, std::int64_t give_up_ns) noexcept {
  constexpr std::int64_t min_ns = 2 * ns_per_s;
  options.timeout_ns = std::min(options.timeout_ns, std::max(give_up_ns - monotonic_ns(), min_ns));
  return options;
}

std::vector<LinkKind> usable_links(const EndpointOptions& endpoint) {
  if (!endpoint.encrypt) {
    return endpoint.allowed_links;
  }
  std::vector<LinkKind> links = links_that(&LinkTraits::can_be_encrypted, endpoint.allowed_links);
  if (links.empty()) {
    throw Error::usage("--encrypt works over " + names_of_links_that(&LinkTraits::can_be_encrypted) +
                       " only, and this end takes " + names_of(endpoint.allowed_links) + "; take --transport " +
                       transports_that(&LinkTraits::can_be_encrypted) + ", or leave out --encrypt");
  }
  return links;
}

std::vector<LinkListening> link_listening_of(const EndpointOptions& endpoint) {
  std::vector<LinkListening> listening;
  const std::vector<LinkKind> links = usable_links(endpoint);
  for (const LinkKind link : links) {
    if (traits(link).has_own_listener) {
      const ListenWhen if_possible =
          endpoint.native_on_loopback ? ListenWhen::where_possible : ListenWhen::beyond_loopback;
      listening.push_back({.link = link, .when = links.size() == 1 ? ListenWhen::required : if_possible});
    }
  }
  return listening;
}

void require_link_where_asked(const EndpointOptions& endpoint) {
  if (const auto links = usable_links(endpoint); links.size() == 1) {
    link_provider(links.front()).require_available();
  }
}

ListenOptions listening_of(const EndpointOptions& endpoint, const AuthenticateOptions& authentication) {
  return {.at = endpoint.listen.value_or(HostPort{}),
          .last_port = endpoint.last_port,
          .has_key = authentication.key.has_value(),
          .insecure = endpoint.insecure,
          .type_of_service = endpoint.type_of_service,
          .native_listen_address = endpoint.native_address,
          .stop = {.fd = endpoint.stop_fd}};
}

}  // namespace framewire
