// Makes the link of an agreed session: opens the data connection in the right direction and creates this side's link
// object.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/log.hpp"
#include "transport/byte_wire.hpp"
#include "transport/control/dial.hpp"
#include "transport/control/token.hpp"
#include "transport/rdma/memory_region.hpp"
#include "transport/session/session_acceptor.hpp"

namespace framewire {

/// How data connections are established: the side that dialled the control channel dials them, too. Exactly one member
/// is set.
struct DataEndpoint {
  SessionAcceptor* acceptor = nullptr;  // this side listens; outlives the session
  const HostPort* dial = nullptr;       // this side dials this address, from reached(); outlives the session
};

/// Settings of a link.
struct LinkParameters {
  std::int64_t peer_timeout_ns = 0;  // of the control channel and of tcp
  std::int64_t rdma_timeout_ns = 0;
  bool relaxed_ordering = true;  // a viewer's rings
  std::optional<std::uint8_t> type_of_service{};
  std::string rdma_address{};  // dial only this address of the listener; empty: any
  // The sender's protection domains (PDs), either for pulling viewers or for the others; they outlive its links. A
  // viewer's link has its own PD.
  SenderProtectionDomains* sender_protection_domains = nullptr;
  int cancel_fd = -1;  // the session's control channel: when it ends, setting up the data connection ends, too
  bool pulls = false;  // the viewer reads frames from the sender's pool
  std::int64_t pull_interval_ns = 0;  // at this interval
  bool encrypts = false;              // the data connection uses TLS; tcp only
  StopCheck stop_check{};             // viewer: whether to stop allocating the ring; called on the subscriber's thread
  Log* log = nullptr;                 // for RDMA device messages; outlives the links
};
LinkParameters link_parameters_of(const EndpointOptions& endpoint) noexcept;

/// An authenticated data connection, before its link exists.
using LinkConnection = std::variant<FileDescriptor, std::unique_ptr<ByteWire>, std::unique_ptr<RdmaConnection>>;

inline constexpr std::int64_t data_connection_timeout_ns = 10'000'000'000;

/// dial_data() and accept_data() return the session's data connection: authenticated, and encrypted if agreed. Both
/// wait until their timeout or until the session's control channel ends.
///
/// dial_data() connects to the same port as the control channel: by the Unix socket for `local`, by TCP for `tcp`, and
/// by RDMA to `rdma_port` for `rdma`. Then it authenticates the connection. `to` is the reached() address of the
/// control connection, because a host name may resolve differently the next time. `rdma_addresses` comes from the peer,
/// unchecked. Throws Error.
LinkConnection dial_data(const HostPort& to, std::uint16_t rdma_port, const Token& token,
                         const DataConnectionId& connection, const LinkParameters& parameters,
                         const std::vector<std::string>& rdma_addresses = {});

/// Completes the connection that the acceptor accepted for `connection`, using the token issued for it. Throws Error.
LinkConnection accept_data(IncomingDataConnection incoming, const Token& token, const DataConnectionId& connection,
                           const LinkParameters& parameters);

/// This side's link object on an authenticated connection. Throws Error.
std::unique_ptr<SenderLink> make_sender_link(LinkKind kind, LinkConnection link_connection,
                                             const LinkParameters& parameters);
std::unique_ptr<ReceiverLink> make_receiver_link(LinkKind kind, LinkConnection link_connection,
                                                 const LinkParameters& parameters);

/// What both sides print at start; frames=tls if encrypted. `format`: describe() of the stream's, empty if it is not
/// known yet. A stream of bytes has data= for frames=.
std::string start_line(LinkKind link, const std::string& auth, const std::string& control, bool encrypts,
                       std::string_view format);

/// Why this link or control channel cannot encrypt data, as an error message for both sides; empty when it can. TLS
/// keys come from the control channel, so a plaintext control channel cannot protect them.
std::string why_not_encrypted(LinkKind link, const std::string& control);

}  // namespace framewire
