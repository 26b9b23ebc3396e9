// The listening side of sessions: accepts connections, identifies each as a control or data connection, and dispatches
// it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/log.hpp"
#include "transport/control/authenticate.hpp"
#include "transport/control/listener.hpp"
#include "transport/control/token.hpp"
#include "transport/rdma/listener.hpp"

namespace framewire {

/// An authenticated data connection: a socket, or an RDMA connection request that is not accepted yet.
using IncomingDataConnection = std::variant<FileDescriptor, RdmaConnectRequest>;

/// Whether an acceptor also accepts RDMA connections.
enum class RdmaListening {
  never,
  beyond_loopback,  // if it listens beyond loopback and there is a device
  where_possible,   // if there is a device: at its addresses, even if the control channel is on loopback only
  required,         // the same, and throws if there is no device
};

/// Owns one accepting thread ("fw-accept"), and one thread per connection that is being identified or runs a session.
/// At most max_unidentified connections are identified at a time. More wait in the listen queue; then connections that
/// have been silent for a second are closed to make room. Unauthenticated peers are closed and have no other effect.
class SessionAcceptor {
 public:
  /// Called on the connection's own thread with an authenticated control channel. The thread ends when it returns. It
  /// gets the acceptor as an argument because the first connection may arrive before the constructor returns to the
  /// owner.
  using OnSession = std::function<void(SessionAcceptor&, AuthenticatedChannel)>;

  /// Throws Error (port in use, no key, no RDMA device with RdmaListening::required).
  SessionAcceptor(const ListenOptions& listen, RdmaListening rdma, AuthenticateOptions authenticate,
                  OnSession on_session, Log& log);
  /// Stops accepting and joins every thread. The owner ends its sessions before.
  ~SessionAcceptor();
  SessionAcceptor(const SessionAcceptor&) = delete;
  SessionAcceptor& operator=(const SessionAcceptor&) = delete;

  /// Issues the single-use token for a data connection that the peer will dial. Any thread. Throws Error.
  Token issue(const DataConnectionId& connection);
  /// Waits for that authenticated connection; nullopt at the deadline. Throws Error (lost_peer) after end_waits(). Any
  /// thread.
  std::optional<IncomingDataConnection> await_data(const DataConnectionId& connection, std::int64_t deadline_ns);
  /// Revokes the token, and drops the connection if it has arrived. Any thread.
  void forget(const DataConnectionId& connection) noexcept;
  /// Ends all current and future await_data() calls, for an owner that shuts down. Any thread.
  void end_waits() noexcept;

  [[nodiscard]] std::uint16_t port() const noexcept { return listener_.port(); }
  /// The port for RDMA connections; 0: none are accepted, and why_no_rdma() says why.
  [[nodiscard]] std::uint16_t rdma_port() const noexcept { return rdma_ ? rdma_->port() : std::uint16_t{0}; }
  [[nodiscard]] std::string why_no_rdma() const;
  /// The addresses for RDMA connections, for a peer that reached another address; at most max_rdma_addresses.
  [[nodiscard]] std::vector<std::string> rdma_addresses() const;
  [[nodiscard]] std::string describe() const { return listener_.describe(); }

 private:
  static constexpr std::size_t max_unidentified = 100;
  /// As long as a session waits for its data connection. A connection that is older belongs to a session that has
  /// ended.
  static constexpr std::int64_t proven_lifetime_ns = 10'000'000'000;

  struct PendingConnection {
    std::thread thread;
    std::int64_t since_ns = 0;
    FileDescriptor unidentified_fd;  // a second descriptor of the connection during identification, to end that early;
                                     // guarded by mutex_
    bool was_closed_at_shutdown =
        false;  // closed because the acceptor shuts down, not for a fault of the peer; guarded by mutex_
    std::atomic<bool> is_done = false;
  };
  struct ProvenConnection {
    DataConnectionId connection;
    IncomingDataConnection incoming;
    std::int64_t expires_ns;
  };

  void accept_loop() noexcept;
  bool wait_and_accept();
  void accept_all();
  void evict_oldest() noexcept;
  void start_connection(AcceptedSocket accepted);
  void serve(PendingConnection& pending, AcceptedSocket& accepted) noexcept;
  void identify_and_serve(PendingConnection& pending, AcceptedSocket accepted);
  void set_identified(PendingConnection& pending) noexcept;
  bool was_closed_at_shutdown(const PendingConnection& pending) noexcept;
  void receive_data_hello(AcceptedSocket accepted, std::int64_t deadline_ns);
  void listen_for_rdma(RdmaListening rdma, const std::string& rdma_address);
  void receive_rdma_request(RdmaConnectRequest request, std::span<const std::byte> hello, const std::string& from);
  void store_proven(const DataConnectionId& connection, IncomingDataConnection incoming);
  void warn(const std::string& text);
  void reap() noexcept;
  void drop_expired() noexcept;

  Listener listener_;
  const AuthenticateOptions authenticate_;
  const OnSession on_session_;
  Log& log_;
  IssuedTokens tokens_;
  FileDescriptor stop_event_;
  std::atomic<std::size_t> unidentified_ = 0;
  std::list<std::unique_ptr<PendingConnection>> pending_;  // used by the accepting thread only

  std::mutex mutex_;
  std::condition_variable data_proven_;
  std::int64_t quiet_until_ns_ = 0;
  std::uint64_t suppressed_warnings_ = 0;
  std::list<ProvenConnection> proven_;
  bool waits_ended_ = false;
  std::string why_no_rdma_;
  std::unique_ptr<RdmaListener> rdma_;
  std::thread thread_;
};

}  // namespace framewire
