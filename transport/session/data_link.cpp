#include "transport/session/data_link.hpp"

#include <poll.h>

#include <memory>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "transport/control/data_hello.hpp"
#include "transport/links.hpp"
#include "transport/tls/tls_wire.hpp"

namespace framewire {

namespace {

/// The authenticated socket itself, or TLS on it.
LinkConnection link_connection_over(FileDescriptor socket, ProofRole role, const Token& token,
                                    const DataConnectionId& connection, const LinkParameters& parameters,
                                    std::int64_t deadline_ns) {
  if (!parameters.encrypts) {
    return socket;
  }
  const TlsRole tls_role = role == ProofRole::dialler ? TlsRole::dialler : TlsRole::listener;
  return std::make_unique<TlsWire>(std::move(socket), tls_role, make_data_key(token, connection), deadline_ns,
                                   parameters.cancel_fd);
}

}  // namespace

LinkParameters link_parameters_of(const EndpointOptions& endpoint) noexcept {
  return {.peer_timeout_ns = endpoint.peer_timeout_ns,
          .native_timeout_ns = endpoint.native_timeout_ns,
          .relaxed_ordering = endpoint.relaxed_ordering,
          .type_of_service = endpoint.type_of_service,
          .native_dial_address = endpoint.native_address,
          .sender_resources = nullptr,
          .pulls = endpoint.pull_interval_ns > 0,
          .pull_interval_ns = endpoint.pull_interval_ns,
          .encrypts = endpoint.encrypt};
}

LinkConnection dial_data(const HostPort& to, const LinkDescription& listener, const Token& token,
                         const DataConnectionId& connection, const LinkParameters& parameters) {
  const LinkProvider& provider = link_provider(connection.link);
  const LinkTraits& link = provider.traits();
  if (link.has_own_listener) {
    return provider.dial(to, listener, make_connect_proof(token, connection), parameters);
  }
  const std::int64_t deadline_ns = monotonic_ns() + data_connection_timeout_ns;
  DialledSocket dialled =
      dial(to, deadline_ns, link.needs_same_host ? DialMode::any : DialMode::tcp,
           {.fd = parameters.cancel_fd, .events = POLLRDHUP, .why = session_ended_early}, parameters.type_of_service);
  if (link.needs_same_host && !dialled.is_unix) {
    throw Error::lost_peer("the peer's Unix socket is gone");
  }
  send_data_hello(dialled.fd.get(), token, connection, deadline_ns);
  await_first_bytes(dialled.fd.get(), parameters.cancel_fd, deadline_ns);
  read_data_answer(dialled.fd.get(), token, connection, deadline_ns);
  return link_connection_over(std::move(dialled.fd), ProofRole::dialler, token, connection, parameters, deadline_ns);
}

LinkConnection accept_data(IncomingDataConnection incoming, const Token& token, const DataConnectionId& connection,
                           const LinkParameters& parameters) {
  if (auto* const request = std::get_if<std::unique_ptr<ConnectRequest>>(&incoming)) {
    return link_provider(connection.link).accept(std::move(*request), parameters);
  }
  return link_connection_over(std::get<FileDescriptor>(std::move(incoming)), ProofRole::listener, token, connection,
                              parameters, monotonic_ns() + data_connection_timeout_ns);
}

std::string start_line(LinkKind link, std::string_view memory, const std::string& auth, const std::string& control,
                       bool encrypts, std::string_view format) {
  return "transport=" + std::string(name(link)) + " memory=" + std::string(memory) + " auth=" + auth +
         " control=" + control + (format == "bytes" ? " data=" : " frames=") + (encrypts ? "tls" : "plaintext");
}

std::string no_encryption_reason(LinkKind link, const std::string& control) {
  if (!traits(link).can_be_encrypted) {
    return "--encrypt works over " + names_of_links_that(&LinkTraits::can_be_encrypted) +
           " only, and the viewer chose " + std::string(name(link));
  }
  return no_encryption_reason(control);
}

std::string no_encryption_reason(const std::string& control) {
  if (control == "plain") {
    return "--encrypt needs a key; run 'framewire key' on one machine, import it on the other, and leave out "
           "--insecure";
  }
  return {};
}

}  // namespace framewire
