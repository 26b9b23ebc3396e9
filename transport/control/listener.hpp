// Accepts connections on one port number: an abstract Unix socket for this user on this machine, and TCP.
#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "transport/address.hpp"
#include "transport/endpoint_options.hpp"

namespace framewire {

struct ListenOptions {
  HostPort at;  // host empty: loopback without a key, all addresses with one; "*": all addresses; port 0: any free port
  std::uint16_t last_port = 0;                    // above at.port: use the first free port from at.port to this one
  bool has_key = false;                           // this program has a key, so that it can authenticate peers
  bool insecure = false;                          // --insecure
  std::optional<std::uint8_t> type_of_service{};  // of accepted connections; see set_type_of_service()
  std::string native_listen_address{};  // where links with a listener of their own listen; empty: on the TCP addresses
  StopWait stop{};                      // ends the look-up of a name in `at`
};

/// A new connection. Only its origin is known; the peer is not authenticated.
struct AcceptedSocket {
  FileDescriptor fd;  // non-blocking, close-on-exec; on TCP with set_tcp_options()
  bool is_unix = false;
  std::string address;  // for messages: "192.0.2.1:40312" or "this machine"
};

/// Owned and used by one thread.
class Listener {
 public:
  /// Binds `framewire-UID-PORT` first, then TCP. Throws Error: refused (beyond loopback without a key and without
  /// `insecure`), failed (port in use, address not of this machine, `stop`). Each message says what to do.
  explicit Listener(const ListenOptions& options);
  /// Closes TCP first. Otherwise a dialler on this host could find TCP alone and take it for an unauthenticated peer's.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// One entry for each listening socket, with events POLLIN, for the owner's poll().
  [[nodiscard]] std::vector<pollfd> descriptors() const;

  /// Accepts one waiting connection of any socket; nothing when there is none. Closes connections of other users on the
  /// Unix socket. When the process has no free descriptors, the connection stays in the backlog and accept_fault() says
  /// so. Never waits.
  std::optional<AcceptedSocket> accept() noexcept;

  /// The errno of the last accept() if it failed for a reason other than "nothing there"; otherwise 0. The owner then
  /// pauses briefly, because the descriptor stays readable.
  [[nodiscard]] int accept_fault() const noexcept { return accept_errno_; }

  /// The port that all sockets share.
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// The addresses of the TCP sockets, each with that port.
  [[nodiscard]] std::span<const SocketAddress> addresses() const noexcept { return addresses_; }
  /// Whether other machines can reach it.
  [[nodiscard]] bool is_beyond_loopback() const noexcept { return beyond_loopback_; }
  /// "127.0.0.1:5290, [::1]:5290", for the start line.
  [[nodiscard]] std::string describe() const;

 private:
  struct Socket {
    FileDescriptor fd;
    bool is_unix = false;
  };
  void bind(const HostPort& at, std::span<const SocketAddress> addresses, bool first_that_works);
  void bind_one_of(const HostPort& first, std::uint16_t last_port, std::span<const SocketAddress> addresses,
                   bool first_that_works);
  std::optional<AcceptedSocket> accept_from(const Socket& socket) noexcept;

  const std::optional<std::uint8_t> type_of_service_;
  std::vector<Socket> sockets_;
  std::vector<SocketAddress> addresses_;
  std::size_t next_ = 0;  // so that no socket starves another
  std::uint16_t port_ = 0;
  bool beyond_loopback_ = false;
  int accept_errno_ = 0;
};

}  // namespace framewire
