// What sessions and programs need of a link: what it can do, how its data connection is made, and its two ends. Each
// link has one LinkProvider, which stands in the list of transport/links.hpp.
//
// A data connection is made in one of two ways:
// - It arrives at the port of the control channel (local, tcp). It is a socket. The session dials or accepts it,
//   authenticates it, and puts TLS on it if both ends agreed on that. The link gets the finished connection.
// - It arrives at a listener of the link's own (rdma: LinkTraits::has_own_listener). The link listens, dials and
//   accepts. In the dialling link's request and in the answer travel bytes that prove whose connection it is; the
//   session writes and checks them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/log.hpp"
#include "transport/address.hpp"
#include "transport/byte_wire.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/link.hpp"

namespace framewire {

/// What the sessions of one sender share of a link (rdma: protection domains, so that a pool is registered once for all
/// viewers). Made before the first session, destroyed after the last. Any thread.
class SenderResources {
 public:
  virtual ~SenderResources() = default;
};

/// The settings of one session's link, at both ends. A link reads those that concern it.
struct LinkParameters {
  // A peer that is silent for so long counts as lost.
  std::int64_t peer_timeout_ns = 0;               // on the control channel and over tcp
  std::int64_t native_timeout_ns = 0;             // over a NativeConnection
  bool relaxed_ordering = true;                   // at a viewer: a device may write to its rings in any order
  std::optional<std::uint8_t> type_of_service{};  // of the packets that this end sends; nothing: the system's default
  /// For the end that dials: the only address of the link's own listener there that it tries. Empty: the address that
  /// TCP reached, else those that the listener announces.
  std::string native_dial_address{};
  SenderResources* sender_resources = nullptr;  // at a sender: what make_sender_resources() made; at a viewer: null
  std::vector<std::string> viewer_memory{};     // at a sender: kinds, besides host memory, that the viewer can import
  int cancel_fd = -1;                 // the session's control channel: its end also ends the set-up of the link
  bool pulls = false;                 // the viewer reads frames from the sender's pool; the sender sends none
  std::int64_t pull_interval_ns = 0;  // how often it does; only with `pulls`
  bool encrypts = false;              // the data connection is TLS; only with LinkTraits::can_be_encrypted
  StopCheck stop_check{};  // at a viewer: true ends the allocation of its ring; called on the subscriber's thread
  Log* log = nullptr;      // for messages about devices; outlives the links
};

/// The error when the control channel ends while its session waits for the data connection.
inline constexpr const char* session_ended_early = "the session ended before its data connection stood";

/// How long the set-up of a data connection over a socket may take.
inline constexpr std::int64_t data_connection_timeout_ns = 10'000'000'000;

/// A data connection that is no socket (rdma: a queue pair). Each link with a listener of its own derives one; nobody
/// else knows what is in it.
class NativeConnection {
 public:
  virtual ~NativeConnection() = default;
};

/// An authenticated data connection, from which make_sender() or make_receiver() makes an end of the link: a socket,
/// TLS on a socket, or a connection of the link's own kind.
using LinkConnection = std::variant<FileDescriptor, std::unique_ptr<ByteWire>, std::unique_ptr<NativeConnection>>;

/// The bytes that travel in the request and in the answer of a native connection. They say whose connection it is and
/// prove it. There are 56 because the private data of rdma_cm has no room for more.
using ConnectHello = std::array<std::byte, 56>;

/// What the dialling link needs of the session, to prove itself and to check its peer.
struct ConnectProof {
  ConnectHello hello{};  // to be sent in the request
  /// Takes the bytes of the answer. Throws Error (refused) if they are not those of the session's peer.
  std::function<void(std::span<const std::byte>)> check_answer{};
};

/// A request at a link's listener that nobody has accepted yet. The link has set up nothing for it, so that an
/// unauthenticated peer costs little. The destructor rejects it.
class ConnectRequest {
 public:
  virtual ~ConnectRequest() = default;
  /// Sets the bytes that accept() will send to the dialling end.
  virtual void set_answer(const ConnectHello& answer) noexcept = 0;
};

/// Called on the listener's thread for each request, with the bytes that it carries, unchecked, and the dialling end's
/// address, for messages.
using OnConnectRequest = std::function<void(std::unique_ptr<ConnectRequest> request, std::span<const std::byte> hello,
                                            const std::string& from)>;

/// A link's own listener: it listens until it is destroyed. Any thread.
class LinkListener {
 public:
  virtual ~LinkListener() = default;
  /// Where the peer finds it: the text that the peer's dial() gets. Empty when it can no longer be reached.
  [[nodiscard]] virtual LinkDescription description() const = 0;
  /// Why it can no longer be reached, as in "its RDMA device is gone"; empty while it can.
  [[nodiscard]] virtual std::string why_gone() const = 0;
};

struct LinkListenOptions {
  std::vector<SocketAddress> addresses;  // those of the control channel's listener
  std::uint16_t port = 0;                // that of the control channel's listener; where it is taken, use another one
  /// False: the control channel listens on loopback only. Then listen at all addresses of the link's devices, for
  /// programs of this machine.
  bool is_beyond_loopback = false;
  /// The only address at which to listen. Empty: as the fields above say.
  std::string native_listen_address{};
};

/// One link. Any thread may call it.
class LinkProvider {
 public:
  virtual ~LinkProvider() = default;

  /// Valid as long as the program runs.
  [[nodiscard]] virtual const LinkTraits& traits() const noexcept = 0;

  /// Makes this end of the link, on a data connection that is authenticated. Throws Error.
  [[nodiscard]] virtual std::unique_ptr<SenderLink> make_sender(LinkConnection connection,
                                                                const LinkParameters& parameters) const = 0;
  [[nodiscard]] virtual std::unique_ptr<ReceiverLink> make_receiver(LinkConnection connection,
                                                                    const LinkParameters& parameters) const = 0;
  /// What LinkParameters::sender_resources then points to. Null when the sessions of a sender share nothing.
  [[nodiscard]] virtual std::unique_ptr<SenderResources> make_sender_resources() const { return nullptr; }

  /// Whether this machine has what the link needs. If not, it is neither offered nor chosen, and LinkTraits::missing
  /// says what is lacking. May ask the system, as often as a session begins.
  [[nodiscard]] virtual bool is_available() const { return true; }
  /// For `--transport THAT`: throws Error (failed) unless the link is available. It says what is missing and what to
  /// do.
  virtual void require_available() const;

  // ---- Only for links with LinkTraits::can_be_pulled ----

  /// Makes the sender's end of a link whose viewer reads the pool. Throws Error.
  [[nodiscard]] virtual std::unique_ptr<ReadTarget> make_read_target(LinkConnection connection,
                                                                     const LinkParameters& parameters) const;

  // ---- Only for links with LinkTraits::has_own_listener ----

  /// Listens until the result is destroyed, and hands each request to `on_request`. Throws Error.
  [[nodiscard]] virtual std::unique_ptr<LinkListener> listen(const LinkListenOptions& options,
                                                             OnConnectRequest on_request) const;
  /// Connects to the peer's listener. `description` is what LinkListener::description() returned there; it comes from
  /// the peer, unchecked. `to` is the address that the control channel has reached, with the control channel's port.
  /// Throws Error: lost_peer, refused, failed.
  [[nodiscard]] virtual std::unique_ptr<NativeConnection> dial(const HostPort& to, const LinkDescription& description,
                                                               const ConnectProof& proof,
                                                               const LinkParameters& parameters) const;
  /// Accepts a request that this link's listener has handed out, and sends its answer. Throws Error as dial() does.
  [[nodiscard]] virtual std::unique_ptr<NativeConnection> accept(std::unique_ptr<ConnectRequest> request,
                                                                 const LinkParameters& parameters) const;
};

/// The socket of a data connection that is a plain socket. Throws Error for the others.
FileDescriptor socket_of(LinkConnection connection);

/// Waits until the peer's first bytes have come on a data connection's socket, or until the deadline: then reading them
/// fails. Throws Error (lost_peer) if the session's control channel, `cancel_fd`, ends first.
void await_first_bytes(int socket, int cancel_fd, std::int64_t deadline_ns);

}  // namespace framewire
