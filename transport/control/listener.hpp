// Where sessions come in: the abstract Unix socket for this machine's own user, and TCP, on one port number.
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
  std::uint16_t last_port = 0;                    // above at.port: the first of at.port to this one that is free
  bool has_key = false;                           // a key is there, so that unauthenticated peers can be told apart
  bool insecure = false;                          // --insecure
  std::optional<std::uint8_t> type_of_service{};  // of what it takes in; see set_type_of_service()
  std::string rdma_address{};  // where RDMA connections are taken, for who takes them; empty: where TCP ones are
};

/// A new connection; nothing is known yet but where it comes from.
struct AcceptedSocket {
  FileDescriptor fd;  // non-blocking, close-on-exec; on TCP with set_tcp_options()
  bool is_unix = false;
  std::string address;  // for messages: "192.0.2.1:40312" or "this machine"
};

/// Owned and used by one thread.
class Listener {
 public:
  /// Binds `framewire-UID-PORT` first, then TCP. Throws Error: refused (beyond loopback without a key and without
  /// `insecure`), failed (port in use, address not of this machine), each with the way out.
  explicit Listener(const ListenOptions& options);
  /// TCP goes first: whoever dials this host must not find that one alone, and take it for an unauthenticated peer's.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// One entry per listening socket, events POLLIN, for the owner's poll().
  [[nodiscard]] std::vector<pollfd> descriptors() const;

  /// Takes one waiting connection of any socket; nothing when there is none. Other users on the Unix socket are hung up
  /// on. When the process has no descriptors left, the connection stays where it is and accept_fault() says so. Never
  /// waits.
  std::optional<AcceptedSocket> accept() noexcept;

  /// The errno of the last accept() that failed for a reason other than "nothing there"; 0 when the last one was fine.
  /// The owner then pauses a little instead of spinning on a readable descriptor.
  [[nodiscard]] int accept_fault() const noexcept { return accept_errno_; }

  /// The port that all sockets share.
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// Of the TCP sockets, each with that port.
  [[nodiscard]] std::span<const SocketAddress> addresses() const noexcept { return addresses_; }
  /// Whether machines other than this one can reach it.
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
