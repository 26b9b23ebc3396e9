// From an agreed session to its link: opens the data connection in the right direction and puts the link's end on it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "transport/control/dial.hpp"
#include "transport/control/token.hpp"
#include "transport/session/door.hpp"

namespace framewire {

/// How one end reaches the other for data: whoever dialled the control channel dials everything else. One of the two is
/// set.
struct DataWay {
  Door* door = nullptr;            // this end listens; outlives the session
  const HostPort* dial = nullptr;  // this end dials this, as reached() says; outlives the session
};

inline constexpr std::int64_t data_connection_timeout_ns = 10'000'000'000;

/// Connects to the same port again, by the Unix socket for `local` and by TCP for `tcp`, and proves the session. `to`
/// is what reached() says of the control connection: a name may lead elsewhere the next time. Throws Error.
FileDescriptor dial_data(const HostPort& to, const Token& token, const DataConnection& connection);

/// The link's end on a proven connection. Throws Error.
std::unique_ptr<SenderLink> make_sender_link(LinkKind kind, FileDescriptor socket, std::int64_t peer_timeout_ns);
std::unique_ptr<ReceiverLink> make_receiver_link(LinkKind kind, FileDescriptor socket, std::int64_t peer_timeout_ns);

/// "transport=tcp memory=host auth=psk control=tls1.3 frames=plaintext": what every end says at start.
std::string start_line(LinkKind link, const std::string& auth, const std::string& control);

}  // namespace framewire
