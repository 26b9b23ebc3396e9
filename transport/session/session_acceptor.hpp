// The listening side of sessions: accepts connections, identifies each as a control or data connection, and dispatches
// it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/log.hpp"
#include "transport/control/authenticate.hpp"
#include "transport/control/listener.hpp"
#include "transport/control/token.hpp"
#include "transport/event_list.hpp"
#include "transport/link_provider.hpp"

namespace framewire {

/// An authenticated data connection: a socket, or a request at a link's own listener that is not accepted yet.
using IncomingDataConnection = std::variant<FileDescriptor, std::unique_ptr<ConnectRequest>>;

/// When an acceptor also listens for a link that has a listener of its own.
enum class ListenWhen {
  beyond_loopback,  // if the control channel listens beyond loopback and the machine has what the link needs
  where_possible,   // if the machine has what the link needs, even if the control channel is on loopback only
  required,         // the same, and throws if the machine lacks it
};

struct LinkListening {
  LinkKind link;
  ListenWhen when = ListenWhen::beyond_loopback;
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

  /// Throws Error (port in use, no key, the machine lacks what a required link needs).
  SessionAcceptor(const ListenOptions& listen, std::span<const LinkListening> links, AuthenticateOptions authenticate,
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
  /// Signals `event` when that connection arrives, and at end_waits(), until forget(): then await_data() does not wait.
  /// Any thread.
  void watch(const DataConnectionId& connection, SharedEvent event);
  /// Revokes the token, and drops the connection if it has arrived. Any thread.
  void forget(const DataConnectionId& connection) noexcept;
  /// Ends all current and future await_data() calls, for an owner that shuts down. Any thread.
  void end_waits() noexcept;

  [[nodiscard]] std::uint16_t port() const noexcept { return listener_.port(); }
  /// Where a peer finds this link's own listener; empty when there is none. Any thread.
  [[nodiscard]] LinkDescription listener_description(LinkKind link) const;
  /// Why this side cannot accept data connections of the link, as in "it has no RDMA device"; empty if it can. Any
  /// thread.
  [[nodiscard]] std::string unavailable_reason(LinkKind link) const;
  /// The same for a link that has a listener of its own. Any thread.
  [[nodiscard]] std::string no_listener_reason(LinkKind link) const;
  [[nodiscard]] std::string describe() const { return listener_.describe(); }

 private:
  static constexpr std::size_t max_unidentified = 100;
  /// As long as a session waits for its data connection. A connection that is older belongs to a session that has
  /// ended.
  static constexpr std::int64_t authenticated_lifetime_ns = 10'000'000'000;

  struct PendingConnection {
    std::thread thread;
    std::int64_t since_ns = 0;
    FileDescriptor unidentified_fd;  // a second descriptor of the connection during identification, to end that early;
                                     // guarded by mutex_
    bool was_closed_at_shutdown =
        false;  // closed because the acceptor shuts down, not for a fault of the peer; guarded by mutex_
    std::atomic<bool> is_done = false;
  };
  struct Watcher {
    DataConnectionId connection;
    SharedEvent event;
  };
  struct AuthenticatedDataConnection {
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
  void listen_for(const LinkListening& wanted, const std::string& native_listen_address);
  void receive_request(LinkKind link, std::unique_ptr<ConnectRequest> request, std::span<const std::byte> hello,
                       const std::string& from);
  void store_authenticated(const DataConnectionId& connection, IncomingDataConnection incoming);
  void warn(const std::string& text);
  void reap() noexcept;
  void drop_expired() noexcept;
  [[nodiscard]] std::int64_t next_expiry_ns() noexcept;

  Listener listener_;
  const AuthenticateOptions authenticate_;
  const OnSession on_session_;
  Log& log_;
  IssuedTokens tokens_;
  FileDescriptor stop_event_;
  FileDescriptor news_event_ = make_eventfd();  // a thread has ended, or a connection is there that may expire
  std::atomic<std::size_t> unidentified_ = 0;
  std::list<std::unique_ptr<PendingConnection>> pending_;  // used by the accepting thread only

  std::mutex mutex_;
  std::condition_variable connection_authenticated_;
  std::int64_t warnings_suppressed_until_ns_ = 0;
  std::uint64_t suppressed_warnings_ = 0;
  std::list<AuthenticatedDataConnection> authenticated_data_;
  std::vector<Watcher> watchers_;
  bool waits_ended_ = false;
  // Set by the constructor before thread_ starts, and constant afterwards.
  struct OwnListener {
    std::unique_ptr<LinkListener> listener;  // null: there is none
    std::string unavailable_reason;          // why there is none
  };
  std::map<LinkKind, OwnListener> own_listeners_;
  std::thread thread_;
};

}  // namespace framewire
