// What a link gives to sessions: its traits, its connections, and its two ends. One provider for each link, found in
// the list of transport/links.hpp.
//
// A link's data connection arrives in one of two ways:
// - at the port of the control channel (local, tcp). The session dials or accepts it as a socket, authenticates it,
//   and encrypts it if agreed.
// - at a listener of its own (rdma: LinkTraits::has_own_listener). The link listens, dials and accepts. The session
//   gives it the bytes that prove to which session the connection belongs, and checks those of the peer.
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

/// What all links of one kind share at a sender (rdma: its protection domains). Outlives them. Any thread.
class SenderResources {
 public:
  virtual ~SenderResources() = default;
};

/// Settings of a link. Each link uses those that concern it.
struct LinkParameters {
  std::int64_t peer_timeout_ns = 0;  // of the control channel and of tcp
  std::int64_t rdma_timeout_ns = 0;
  bool relaxed_ordering = true;  // a viewer's rings
  std::optional<std::uint8_t> type_of_service{};
  std::string rdma_address{};                   // dial only this address of the listener; empty: any
  SenderResources* sender_resources = nullptr;  // of a sender, from make_sender_resources(); null at a viewer
  int cancel_fd = -1;  // the session's control channel: when it ends, setting up the data connection ends, too
  bool pulls = false;  // the viewer reads frames from the sender's pool
  std::int64_t pull_interval_ns = 0;  // at this interval
  bool encrypts = false;              // the data connection uses TLS; only with LinkTraits::can_be_encrypted
  StopCheck stop_check{};             // viewer: whether to stop allocating the ring; called on the subscriber's thread
  Log* log = nullptr;                 // for messages about devices; outlives the links
};

/// The error when the control channel ends while its session waits for the data connection.
inline constexpr const char* session_ended_early = "the session ended before its data connection stood";

/// How long setting up a data connection over a socket may take.
inline constexpr std::int64_t data_connection_timeout_ns = 10'000'000'000;

/// A connection of a link's own kind (rdma: a queue pair). Only its provider knows what it is.
class NativeConnection {
 public:
  virtual ~NativeConnection() = default;
};

/// An authenticated data connection, before its link exists: a socket, TLS on a socket, or the link's own.
using LinkConnection = std::variant<FileDescriptor, std::unique_ptr<ByteWire>, std::unique_ptr<NativeConnection>>;

/// The bytes by which a native connection proves to which session it belongs. rdma_cm's private data has 56 bytes.
using ConnectHello = std::array<std::byte, 56>;

/// The dialling side's part of the proof.
struct ConnectProof {
  ConnectHello hello{};                                            // for the listener
  std::function<void(std::span<const std::byte>)> check_answer{};  // throws Error (refused) unless it is the peer's
};

/// A request at a link's listener that nobody has accepted yet. It has no memory of the link. The destructor rejects
/// it.
class ConnectRequest {
 public:
  virtual ~ConnectRequest() = default;
  /// The bytes that accepting will send.
  virtual void set_answer(const ConnectHello& answer) noexcept = 0;
};

/// Called on the listener's thread with the dialling side's bytes and its address.
using OnConnectRequest = std::function<void(std::unique_ptr<ConnectRequest> request, std::span<const std::byte> hello,
                                            const std::string& from)>;

/// A link's own listener. Any thread.
class LinkListener {
 public:
  virtual ~LinkListener() = default;
  /// Where the peer finds it, as the peer's dial() gets it; empty when it can no longer be reached.
  [[nodiscard]] virtual LinkDescription description() const = 0;
  /// Why it can no longer be reached, as in "its RDMA device is gone"; empty while it can.
  [[nodiscard]] virtual std::string why_gone() const = 0;
};

struct LinkListenOptions {
  std::vector<SocketAddress> addresses;  // at which the control channel listens
  std::uint16_t port = 0;                // of the control channel; another one where it is taken
  bool is_beyond_loopback = false;       // false: at all addresses of the link's own devices, for this machine
  std::string rdma_address{};            // only here
};

class LinkProvider {
 public:
  virtual ~LinkProvider() = default;

  /// Valid as long as the program runs.
  [[nodiscard]] virtual const LinkTraits& traits() const noexcept = 0;

  /// This side's end of an authenticated connection. Throws Error.
  [[nodiscard]] virtual std::unique_ptr<SenderLink> make_sender(LinkConnection connection,
                                                                const LinkParameters& parameters) const = 0;
  [[nodiscard]] virtual std::unique_ptr<ReceiverLink> make_receiver(LinkConnection connection,
                                                                    const LinkParameters& parameters) const = 0;
  /// For LinkParameters::sender_resources; null when its links share nothing.
  [[nodiscard]] virtual std::unique_ptr<SenderResources> make_sender_resources() const { return nullptr; }

  // ---- Links with LinkTraits::can_be_pulled ----

  /// The sender's end for a viewer that reads the pool. Throws Error.
  [[nodiscard]] virtual std::unique_ptr<ReadTarget> make_read_target(LinkConnection connection,
                                                                     const LinkParameters& parameters) const;

  // ---- Links with LinkTraits::has_own_listener ----

  /// Whether this machine has what the link needs. May ask the system.
  [[nodiscard]] virtual bool is_available() const { return true; }
  /// Throws Error (failed) that says what is missing and what to do.
  virtual void require_available() const {}
  /// Listens until the listener is destroyed. Throws Error.
  [[nodiscard]] virtual std::unique_ptr<LinkListener> listen(const LinkListenOptions& options,
                                                             OnConnectRequest on_request) const;
  /// Connects to the listener that `description` describes: the peer's own words, unchecked. `to` is the reached()
  /// address of the control connection, with its port. Throws Error: lost_peer, refused, failed.
  [[nodiscard]] virtual std::unique_ptr<NativeConnection> dial(const HostPort& to, const LinkDescription& description,
                                                               const ConnectProof& proof,
                                                               const LinkParameters& parameters) const;
  /// Accepts a request of this link's listener. Throws Error as dial() does.
  [[nodiscard]] virtual std::unique_ptr<NativeConnection> accept(std::unique_ptr<ConnectRequest> request,
                                                                 const LinkParameters& parameters) const;
};

/// The socket of a connection that is one. Throws Error for others.
FileDescriptor socket_of(LinkConnection connection);

/// Waits for the peer's first bytes on a data connection's socket. Throws Error (lost_peer) when the session's control
/// channel, `cancel_fd`, ends before. Returns at the deadline: reading then fails.
void await_first_bytes(int socket, int cancel_fd, std::int64_t deadline_ns);

}  // namespace framewire
