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
using Arrival = std::variant<FileDescriptor, RdmaRequest>;

/// Whether a door takes RDMA connections as well.
enum class RdmaListening {
  never,
  beyond_loopback,  // where it listens beyond loopback and there is a device
  where_possible,   // where there is a device: at its addresses, though the control channel stays on loopback
  required,         // the same, and throws where there is none
};

/// Has one thread that accepts ("fw-door"), and one for every connection that is being examined or lives as a session.
/// At most max_unknown connections are examined at a time; more wait in the listen queue, and then those who have said
/// nothing for a second make room. Strangers are closed and cost nothing else.
class Door {
 public:
  /// Called on the connection's own thread with a control channel whose far end is known; the thread ends when it
  /// returns. The door names itself, since its first visitor may be in before its owner has it.
  using OnSession = std::function<void(Door&, Authenticated)>;

  /// Throws Error (port in use, no key, no RDMA device where one is required).
  Door(const ListenOptions& listen, RdmaListening rdma, AuthenticateOptions authenticate, OnSession on_session,
       Log& log);
  /// Stops accepting and joins every thread: the owner ends its sessions first.
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  /// Issues the one-use token for a data connection that the peer will dial. Any thread. Throws Error.
  Token issue(const DataConnection& connection);
  /// Waits for that connection, proven; nothing at the deadline. Throws Error (lost_peer) after end_waits(). Any
  /// thread.
  std::optional<Arrival> await_data(const DataConnection& connection, std::int64_t deadline_ns);
  /// Nobody waits for that connection any more. Any thread.
  void forget(const DataConnection& connection) noexcept;
  /// Ends every await_data(), also those to come: for an owner that ends. Any thread.
  void end_waits() noexcept;

  [[nodiscard]] std::uint16_t port() const noexcept { return listener_.port(); }
  /// Where RDMA connections are taken; 0: nowhere, and why_no_rdma() says why.
  [[nodiscard]] std::uint16_t rdma_port() const noexcept { return rdma_ ? rdma_->port() : std::uint16_t{0}; }
  [[nodiscard]] std::string why_no_rdma() const;
  /// At which addresses, for a peer that has reached another one; most_rdma_addresses at most.
  [[nodiscard]] std::vector<std::string> rdma_addresses() const;
  [[nodiscard]] std::string describe() const { return listener_.describe(); }

 private:
  static constexpr std::size_t max_unknown = 100;
  /// As long as a session waits for its data connection: what nobody has fetched by then belongs to one that has ended.
  static constexpr std::int64_t arrived_lifetime_ns = 10'000'000'000;

  struct Visitor {
    std::thread thread;
    std::int64_t since_ns = 0;
    FileDescriptor
        unknown_fd;  // a second descriptor of the connection while it is examined: to end that early; guarded by mutex_
    bool was_sent_away = false;  // as the door closed: nothing was wrong with it; guarded by mutex_
    std::atomic<bool> is_done = false;
  };
  struct Arrived {
    DataConnection connection;
    Arrival arrival;
    std::int64_t expires_ns;
  };

  void accept_loop() noexcept;
  bool wait_and_accept();
  void accept_all();
  void make_room() noexcept;
  void receive_visitor(Accepted accepted);
  void serve(Visitor& visitor, Accepted& accepted) noexcept;
  void examine(Visitor& visitor, Accepted accepted);
  void make_known(Visitor& visitor) noexcept;
  bool was_sent_away(const Visitor& visitor) noexcept;
  void take_data(Accepted accepted, std::int64_t deadline_ns);
  void listen_for_rdma(RdmaListening rdma, const std::string& rdma_address);
  void take_request(RdmaRequest request, std::span<const std::byte> hello, const std::string& from);
  void keep(const DataConnection& connection, Arrival arrival);
  void warn(const std::string& text);
  void reap() noexcept;
  void drop_unfetched() noexcept;

  Listener listener_;
  const AuthenticateOptions authenticate_;
  const OnSession on_session_;
  Log& log_;
  PendingTokens tokens_;
  FileDescriptor stop_event_;
  std::atomic<std::size_t> unknown_ = 0;
  std::list<std::unique_ptr<Visitor>> visitors_;  // the accepting thread's

  std::mutex mutex_;
  std::condition_variable data_arrived_;
  std::int64_t quiet_until_ns_ = 0;
  std::uint64_t unsaid_warnings_ = 0;
  std::list<Arrived> arrived_;
  bool waits_are_over_ = false;
  std::string why_no_rdma_;
  std::unique_ptr<RdmaListener> rdma_;
  std::thread thread_;
};

}  // namespace framewire
