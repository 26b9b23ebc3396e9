// From an agreed session to its link: opens the data connection in the right direction and puts the link's end on it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/log.hpp"
#include "transport/byte_wire.hpp"
#include "transport/control/dial.hpp"
#include "transport/control/token.hpp"
#include "transport/rdma/memory_region.hpp"
#include "transport/session/session_acceptor.hpp"

namespace framewire {

/// How one end reaches the other for data: whoever dialled the control channel dials everything else. One of the two is
/// set.
struct DataEndpoint {
  SessionAcceptor* acceptor = nullptr;  // this end listens; outlives the session
  const HostPort* dial = nullptr;       // this end dials this, as reached() says; outlives the session
};

/// What links need to know beyond the peer.
struct LinkParameters {
  std::int64_t peer_timeout_ns = 0;  // of the control channel and of tcp
  std::int64_t rdma_timeout_ns = 0;
  bool relaxed_ordering = true;  // a viewer's rings
  std::optional<std::uint8_t> type_of_service{};
  std::string rdma_address{};  // the listener's that is dialled, and no other one; empty: not said
  // A sender's, which outlive its links: those for viewers that pull, or for all others. A viewer's link has a domain
  // of its own.
  SenderProtectionDomains* sender_protection_domains = nullptr;
  int cancel_fd = -1;  // of this session: its control channel, whose end also ends the making of a data connection
  bool pulls = false;  // the viewer reads the frames from the sender's pool
  std::int64_t pull_interval_ns = 0;  // and so often
  bool encrypts = false;              // the data connection goes inside TLS; of tcp alone
  StopCheck stop_check{};             // a viewer's: whether its ring is still wanted; on the subscriber's thread
  Log* log = nullptr;                 // for what a device says; outlives the links
};
LinkParameters link_parameters_of(const EndpointOptions& endpoint) noexcept;

/// A data connection that a link can be put on.
using LinkConnection = std::variant<FileDescriptor, std::unique_ptr<ByteWire>, std::unique_ptr<RdmaConnection>>;

inline constexpr std::int64_t data_connection_timeout_ns = 10'000'000'000;

/// The data connection that a session wants: proven and, where the terms say so, encrypted. Both wait, for as long as
/// their timeouts say and no longer than the session's lifeline holds.
///
/// Connects to the same port again, by the Unix socket for `local`, by TCP for `tcp`, by RDMA to `rdma_port` for
/// `rdma`, and proves the session. `to` is what reached() says of the control connection: a name may lead elsewhere the
/// next time. `rdma_addresses`: what the peer has told of itself, unchecked. Throws Error.
LinkConnection dial_data(const HostPort& to, std::uint16_t rdma_port, const Token& token,
                         const DataConnectionId& connection, const LinkParameters& parameters,
                         const std::vector<std::string>& rdma_addresses = {});

/// Takes what the acceptor let in for `connection`, by the token that was issued for it. Throws Error.
LinkConnection accept_data(IncomingDataConnection incoming, const Token& token, const DataConnectionId& connection,
                           const LinkParameters& parameters);

/// The link's end on a proven connection. Throws Error.
std::unique_ptr<SenderLink> make_sender_link(LinkKind kind, LinkConnection link_connection,
                                             const LinkParameters& parameters);
std::unique_ptr<ReceiverLink> make_receiver_link(LinkKind kind, LinkConnection link_connection,
                                                 const LinkParameters& parameters);

/// "transport=tcp memory=host auth=psk control=tls1.3 frames=plaintext": what every end says at start; or frames=tls.
std::string start_line(LinkKind link, const std::string& auth, const std::string& control, bool encrypts);

/// Why data cannot be encrypted over this link or behind this control channel, as a sentence for both ends; empty where
/// they can be. A key that comes from the control channel is none where anybody can read that.
std::string why_not_encrypted(LinkKind link, const std::string& control);

}  // namespace framewire
