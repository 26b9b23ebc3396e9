// Opens the data connection of an agreed session, in the right direction.
#pragma once

#include <string>
#include <string_view>

#include "transport/control/dial.hpp"
#include "transport/control/token.hpp"
#include "transport/link_provider.hpp"
#include "transport/session/session_acceptor.hpp"

namespace framewire {

/// How data connections are established: the side that dialled the control channel dials them, too. Exactly one member
/// is set.
struct DataConnector {
  SessionAcceptor* acceptor = nullptr;  // this side listens; outlives the session
  const HostPort* dial = nullptr;       // this side dials this address, from reached(); outlives the session
};

LinkParameters link_parameters_of(const EndpointOptions& endpoint) noexcept;

/// dial_data() and accept_data() return the session's data connection: authenticated, and encrypted if agreed. Both
/// wait until their timeout or until the session's control channel ends.
///
/// dial_data() connects to the same port as the control channel (by the Unix socket where the link needs the same
/// host), or to the link's own listener, which `listener` describes in the peer's words, unchecked. Then it
/// authenticates the connection. `to` is the reached() address of the control connection, because a host name may
/// resolve differently the next time. Throws Error.
LinkConnection dial_data(const HostPort& to, const LinkDescription& listener, const Token& token,
                         const DataConnectionId& connection, const LinkParameters& parameters);

/// Completes the connection that the acceptor accepted for `connection`, using the token issued for it. Throws Error.
LinkConnection accept_data(IncomingDataConnection incoming, const Token& token, const DataConnectionId& connection,
                           const LinkParameters& parameters);

/// What both sides print at start; frames=tls if encrypted. `memory`: where the frames of this end lie. `format`:
/// describe() of the stream's, empty if it is not known yet. A stream of bytes has data= for frames=.
std::string start_line(LinkKind link, std::string_view memory, const std::string& auth, const std::string& control,
                       bool encrypts, std::string_view format);

/// Why this control channel cannot lead to encrypted data, as an error message for both sides; empty when it can. TLS
/// keys come from the control channel, so a plaintext control channel cannot protect them.
std::string no_encryption_reason(const std::string& control);
/// The same for this link and control channel.
std::string no_encryption_reason(LinkKind link, const std::string& control);

}  // namespace framewire
