#include "transport/session/data_link.hpp"
#include "transport/control/data_hello.hpp"

#include <poll.h>

#include <array>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "transport/local/local_receiver.hpp"
#include "transport/local/local_sender.hpp"
#include "transport/rdma/cell.hpp"
#include "transport/rdma/rdma_puller.hpp"
#include "transport/rdma/rdma_receiver.hpp"
#include "transport/rdma/rdma_sender.hpp"
#include "transport/session/rdma_data.hpp"
#include "transport/tcp/plain_wire.hpp"
#include "transport/tcp/tcp_receiver.hpp"
#include "transport/tcp/tcp_sender.hpp"
#include "transport/tls/tls_wire.hpp"

namespace framewire {

namespace {

/// Spreads sessions over the completion vectors. A sender counts its sessions. A viewer has few, and uses the first
/// bytes of the session id, which are random.
std::uint32_t completion_vector_of(const LinkParameters& parameters, const DataConnectionId& connection) noexcept {
  if (parameters.sender_protection_domains != nullptr) {
    return parameters.sender_protection_domains->next_completion_vector();
  }
  std::uint32_t lot = 0;
  for (const auto part : std::span(connection.session).first(2)) {
    lot = lot << 8 | static_cast<std::uint32_t>(part);
  }
  return lot;
}

RdmaOptions rdma_options(const LinkParameters& parameters, const DataConnectionId& connection) {
  SenderProtectionDomains* protection_domains = parameters.sender_protection_domains;
  Log* log = parameters.log;
  return {.protection_domain_of =
              [protection_domains](ibv_context* device) {
                return protection_domains != nullptr ? protection_domains->protection_domain_of(device)
                                                     : allocate_protection_domain(device);
              },
          .peer_timeout_ns = parameters.rdma_timeout_ns,
          .staging_bytes_per_request = protection_domains != nullptr && !parameters.pulls ? cell_stride_bytes : 0,
          .cancel_fd = parameters.cancel_fd,
          .type_of_service = parameters.type_of_service,
          .receives_immediates = !parameters.pulls,
          .completion_vector = completion_vector_of(parameters, connection),
          .say =
              [log](LogLevel level, const std::string& text) {
                if (log != nullptr) {
                  log->line(level, text);
                }
              }};
}

FileDescriptor socket_of(LinkConnection link_connection) {
  return std::get<FileDescriptor>(std::move(link_connection));
}

/// Waits for the peer's first bytes on the data connection. Throws Error if the session ends before.
void await_hello(int socket, const LinkParameters& parameters, std::int64_t deadline_ns) {
  std::array ends{pollfd{.fd = socket, .events = POLLIN, .revents = 0},
                  pollfd{.fd = parameters.cancel_fd, .events = POLLRDHUP, .revents = 0}};
  wait_until(ends, deadline_ns);
  if (ends[0].revents == 0 && ends[1].revents != 0) {
    throw Error::lost_peer("the session ended before its data connection stood");
  }
}

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

std::unique_ptr<ByteWire> wire_of(LinkConnection link_connection) {
  if (auto* socket = std::get_if<FileDescriptor>(&link_connection)) {
    return std::make_unique<PlainWire>(std::move(*socket));
  }
  return std::get<std::unique_ptr<ByteWire>>(std::move(link_connection));
}

std::unique_ptr<RdmaConnection> rdma_connection_of(LinkConnection link_connection) {
  return std::get<std::unique_ptr<RdmaConnection>>(std::move(link_connection));
}

}  // namespace

LinkParameters link_parameters_of(const EndpointOptions& endpoint) noexcept {
  return {.peer_timeout_ns = endpoint.peer_timeout_ns,
          .rdma_timeout_ns = endpoint.rdma_timeout_ns,
          .relaxed_ordering = endpoint.relaxed_ordering,
          .type_of_service = endpoint.type_of_service,
          .rdma_address = endpoint.rdma_address,
          .sender_protection_domains = nullptr,
          .pulls = endpoint.pull_interval_ns > 0,
          .pull_interval_ns = endpoint.pull_interval_ns,
          .encrypts = endpoint.encrypt};
}

LinkConnection dial_data(const HostPort& to, std::uint16_t rdma_port, const Token& token,
                         const DataConnectionId& connection, const LinkParameters& parameters,
                         const std::vector<std::string>& rdma_addresses) {
  const LinkTraits& link = traits(connection.link);
  if (link.has_own_listener) {
    return dial_rdma({.host = to.host, .port = rdma_port}, token, connection, rdma_options(parameters, connection),
                     monotonic_ns() + rdma_connection_timeout_ns,
                     {.told = rdma_addresses, .only = parameters.rdma_address});
  }
  const std::int64_t deadline_ns = monotonic_ns() + data_connection_timeout_ns;
  DialledSocket dialled = dial(
      to, deadline_ns, link.needs_same_host ? DialMode::any : DialMode::tcp,
      {.fd = parameters.cancel_fd, .events = POLLRDHUP, .why = "the session ended before its data connection stood"},
      parameters.type_of_service);
  if (link.needs_same_host && !dialled.is_unix) {
    throw Error::lost_peer("the peer's Unix socket is gone");
  }
  send_data_hello(dialled.fd.get(), token, connection, deadline_ns);
  await_hello(dialled.fd.get(), parameters, deadline_ns);
  read_data_answer(dialled.fd.get(), token, connection, deadline_ns);
  return link_connection_over(std::move(dialled.fd), ProofRole::dialler, token, connection, parameters, deadline_ns);
}

LinkConnection accept_data(IncomingDataConnection incoming, const Token& token, const DataConnectionId& connection,
                           const LinkParameters& parameters) {
  if (auto* request = std::get_if<RdmaConnectRequest>(&incoming)) {
    return RdmaConnection::accept(std::move(*request), rdma_options(parameters, connection),
                                  monotonic_ns() + rdma_connection_timeout_ns);
  }
  return link_connection_over(std::get<FileDescriptor>(std::move(incoming)), ProofRole::listener, token, connection,
                              parameters, monotonic_ns() + data_connection_timeout_ns);
}

std::unique_ptr<SenderLink> make_sender_link(LinkKind kind, LinkConnection link_connection,
                                             const LinkParameters& parameters) {
  switch (kind) {
    case LinkKind::local:
      return std::make_unique<LocalSender>(socket_of(std::move(link_connection)));
    case LinkKind::tcp:
      return std::make_unique<TcpSender>(wire_of(std::move(link_connection)), parameters.peer_timeout_ns);
    case LinkKind::rdma:
      return std::make_unique<RdmaSender>(rdma_connection_of(std::move(link_connection)),
                                          *parameters.sender_protection_domains);
  }
  throw Error::failed("there is no such link");
}

std::unique_ptr<ReceiverLink> make_receiver_link(LinkKind kind, LinkConnection link_connection,
                                                 const LinkParameters& parameters) {
  switch (kind) {
    case LinkKind::local: {
      const std::int64_t deadline_ns = monotonic_ns() + data_connection_timeout_ns;
      FileDescriptor socket = socket_of(std::move(link_connection));
      await_hello(socket.get(), parameters, deadline_ns);
      return std::make_unique<LocalReceiver>(std::move(socket), deadline_ns);
    }
    case LinkKind::tcp:
      return std::make_unique<TcpReceiver>(wire_of(std::move(link_connection)), parameters.peer_timeout_ns);
    case LinkKind::rdma:
      if (parameters.pulls) {
        return std::make_unique<RdmaPuller>(rdma_connection_of(std::move(link_connection)), parameters.pull_interval_ns,
                                            parameters.relaxed_ordering);
      }
      return std::make_unique<RdmaReceiver>(rdma_connection_of(std::move(link_connection)),
                                            parameters.relaxed_ordering);
  }
  throw Error::failed("there is no such link");
}

std::string start_line(LinkKind link, const std::string& auth, const std::string& control, bool encrypts,
                       std::string_view format) {
  return "transport=" + std::string(name(link)) + " memory=host auth=" + auth + " control=" + control +
         (format == "bytes" ? " data=" : " frames=") + (encrypts ? "tls" : "plaintext");
}

std::string why_not_encrypted(LinkKind link, const std::string& control) {
  if (!traits(link).can_be_encrypted) {
    return "--encrypt works over tcp only, and the viewer chose " + std::string(name(link));
  }
  if (control == "plain") {
    return "--encrypt needs a key; run 'framewire key' on one machine, import it on the other, and leave out "
           "--insecure";
  }
  return {};
}

}  // namespace framewire
