// The listening side of sessions: takes connections in, finds out what they are, and hands each to where it belongs.
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

/// A data connection that the other side has proven: a socket, or an RDMA connection that wants to be accepted.
using IncomingDataConnection = std::variant<FileDescriptor, RdmaConnectRequest>;

/// Whether an acceptor takes RDMA connections as well.
enum class RdmaListening {
  never,
  beyond_loopback,  // where it listens beyond loopback and there is a device
  where_possible,   // where there is a device: at its addresses, though the control channel stays on loopback
  required,         // the same, and throws where there is none
};

/// Has one thread that accepts ("fw-accept"), and one for every connection that is being examined or lives as a
/// session. At most max_unidentified connections are examined at a time; more wait in the listen queue, and then those
/// who have said nothing for a second make room. Unauthenticated peers are closed and cost nothing else.
class SessionAcceptor {
 public:
  /// Called on the connection's own thread with a control channel whose far end is known; the thread ends when it
  /// returns. The acceptor names itself, since its first connection may be in before its owner has it.
  using OnSession = std::function<void(SessionAcceptor&, AuthenticatedChannel)>;

  /// Throws Error (port in use, no key, no RDMA device where one is required).
  SessionAcceptor(const ListenOptions& listen, RdmaListening rdma, AuthenticateOptions authenticate,
                  OnSession on_session, Log& log);
  /// Stops accepting and joins every thread: the owner ends its sessions first.
  ~SessionAcceptor();
  SessionAcceptor(const SessionAcceptor&) = delete;
  SessionAcceptor& operator=(const SessionAcceptor&) = delete;

  /// Issues the one-use token for a data connection that the peer will dial. Any thread. Throws Error.
  Token issue(const DataConnectionId& connection);
  /// Waits for that connection, proven; nothing at the deadline. Throws Error (lost_peer) after end_waits(). Any
  /// thread.
  std::optional<IncomingDataConnection> await_data(const DataConnectionId& connection, std::int64_t deadline_ns);
  /// Nobody waits for that connection any more. Any thread.
  void forget(const DataConnectionId& connection) noexcept;
  /// Ends every await_data(), also those to come: for an owner that ends. Any thread.
  void end_waits() noexcept;

  [[nodiscard]] std::uint16_t port() const noexcept { return listener_.port(); }
  /// Where RDMA connections are taken; 0: nowhere, and why_no_rdma() says why.
  [[nodiscard]] std::uint16_t rdma_port() const noexcept { return rdma_ ? rdma_->port() : std::uint16_t{0}; }
  [[nodiscard]] std::string why_no_rdma() const;
  /// At which addresses, for a peer that has reached another one; max_rdma_addresses at most.
  [[nodiscard]] std::vector<std::string> rdma_addresses() const;
  [[nodiscard]] std::string describe() const { return listener_.describe(); }

 private:
  static constexpr std::size_t max_unidentified = 100;
  /// As long as a session waits for its data connection: what nobody has fetched by then belongs to one that has ended.
  static constexpr std::int64_t proven_lifetime_ns = 10'000'000'000;

  struct PendingConnection {
    std::thread thread;
    std::int64_t since_ns = 0;
    FileDescriptor unidentified_fd;  // a second descriptor of the connection while it is examined: to end that early;
                                     // guarded by mutex_
    bool was_closed_at_shutdown = false;  // as the acceptor closed: nothing was wrong with it; guarded by mutex_
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
  std::list<std::unique_ptr<PendingConnection>> pending_;  // the accepting thread's

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
