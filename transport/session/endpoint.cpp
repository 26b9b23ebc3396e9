#include "transport/session/endpoint.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "transport/session/rdma_data.hpp"

namespace framewire {

AuthenticateOptions authentication_of(const EndpointOptions& endpoint) {
  AuthenticateOptions options;
  options.key_is_explicit = endpoint.key_file.has_value() || endpoint.one_time_key.has_value();
  options.insecure = endpoint.insecure;
  if (endpoint.one_time_key) {
    options.key = Key(*endpoint.one_time_key);
  } else if (!endpoint.insecure || options.key_is_explicit) {
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
  const auto& links = endpoint.allowed_links;
  if (!endpoint.encrypt) {
    return links;
  }
  if (std::ranges::find(links, LinkKind::tcp) == links.end()) {
    throw Error::usage("--encrypt works over tcp only, and this end takes " + names_of(links) +
                       "; take --transport auto or tcp, or leave out --encrypt");
  }
  return {LinkKind::tcp};
}

RdmaListening rdma_listening_of(const EndpointOptions& endpoint) noexcept {
  const auto& links = endpoint.allowed_links;
  if (endpoint.encrypt || std::ranges::none_of(links, [](LinkKind kind) { return traits(kind).has_own_listener; })) {
    return RdmaListening::never;
  }
  if (links.size() == 1) {
    return RdmaListening::required;
  }
  return endpoint.rdma_for_loopback ? RdmaListening::where_possible : RdmaListening::beyond_loopback;
}

void require_rdma_where_asked(const EndpointOptions& endpoint) {
  if (rdma_listening_of(endpoint) == RdmaListening::required && !has_rdma_device()) {
    throw no_rdma_device();
  }
}

ListenOptions listening_of(const EndpointOptions& endpoint, const AuthenticateOptions& authentication) {
  return {.at = endpoint.listen.value_or(HostPort{}),
          .last_port = endpoint.last_port,
          .has_key = authentication.key.has_value(),
          .insecure = endpoint.insecure,
          .type_of_service = endpoint.type_of_service,
          .rdma_address = endpoint.rdma_address};
}

}  // namespace framewire
