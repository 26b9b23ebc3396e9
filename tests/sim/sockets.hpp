// Sockets, eventfds and epoll descriptors of a simulated world. posix_files.cpp gives them numbers.
#pragma once

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/sim/world.hpp"

namespace framewire::sim {

/// An open file description. Several descriptors can have it.
class File {
 public:
  virtual ~File() = default;
  /// The events of poll() that it has now.
  [[nodiscard]] virtual short events(const World& world) const = 0;
  bool is_non_blocking = false;
};

using FilePointer = std::shared_ptr<File>;

class Eventfd final : public File {
 public:
  [[nodiscard]] short events(const World&) const override {
    return static_cast<short>((count > 0 ? POLLIN : 0) | (count < UINT64_MAX - 1 ? POLLOUT : 0));
  }
  std::uint64_t count = 0;
};

class Epoll final : public File {
 public:
  struct Watch {
    epoll_event wanted;
    std::weak_ptr<File> file;
    std::size_t reported_bytes = 0;  // EPOLLET: what had come when it was reported last
  };
  [[nodiscard]] short events(const World& world) const override;
  /// The events of one watch, by the rules of EPOLLET if it asks for that.
  [[nodiscard]] static std::uint32_t ready_events(const Watch& watch, const World& world);
  std::map<int, Watch> watches;
};

/// A descriptor on its way to another socket: a simulated one, or one of the C library's.
struct PassedDescriptor {
  FilePointer file;
  int real_fd = -1;
};

/// One direction of a connection.
struct Direction {
  struct Part {
    std::int64_t arrives_ns;
    std::string bytes;
    std::vector<PassedDescriptor> descriptors;
  };
  ~Direction();
  [[nodiscard]] std::size_t arrived_bytes(std::int64_t now_ns) const;
  /// The writer's end: arrives behind what it has sent.
  void finish(World& world);
  /// From now on nothing arrives.
  void cut(World& world);
  /// The reader's kernel gives up a cut wire in time.
  void give_up_in_time(World& world);

  std::deque<Part> parts;
  std::size_t capacity_bytes = 0;
  std::size_t waiting_bytes = 0;  // sent and not received
  std::size_t total_bytes = 0;    // ever sent
  std::size_t lost_bytes = 0;     // of what was sent over a cut wire
  std::int64_t latency_ns = 0;
  std::int64_t free_ns = 0;               // when all that was sent has arrived
  std::int64_t cut_ns = INT64_MAX;        // since when nothing arrives
  std::int64_t ends_ns = INT64_MAX;       // when the end of the stream arrives
  std::int64_t resets_ns = INT64_MAX;     // when a reset arrives
  bool is_read = true;                    // the reader still has its socket, and has not shut down a Unix socket
  bool is_finished = false;               // the writer has shut it down, or closed its socket
  std::int64_t keepalive_ns = INT64_MAX;  // after how long the reader's kernel gives up a cut wire
};

class Socket final : public File {
 public:
  Socket(int its_domain, World& its_world) : domain(its_domain), world(its_world) {}
  ~Socket() override;
  [[nodiscard]] short events(const World& at) const override;
  [[nodiscard]] bool is_connected() const { return in != nullptr; }
  /// What happens when the last descriptor is closed, or its process dies. A second call does nothing.
  void hang_up();

  const int domain;
  World& world;
  sockaddr_storage own{};
  socklen_t own_bytes = 0;
  sockaddr_storage peer{};
  socklen_t peer_bytes = 0;
  std::string bound_to;  // the key of the network's map; empty if not bound
  bool is_listening = false;
  std::deque<std::shared_ptr<Socket>> pending;  // connections to accept
  std::shared_ptr<Direction> in, out;
  int error = 0;
  std::size_t receive_low_water_bytes = 1;
  bool resets_at_close = false;

 private:
  bool has_hung_up_ = false;
};

/// As getsockopt(). A cut wire shows in TCP_INFO.
int get_option(const Socket& socket, int level, int option, void* value, socklen_t* bytes);

/// A connection over the network that is no socket: that of a queue pair.
struct NativeWire {
  std::int64_t latency_ns = 0;
  bool is_cut = false;
};

/// The sockets of one world that others can connect to. There is one network; Network::clear() begins a new one.
class Network {
 public:
  static Network& get();
  /// A new world: nobody listens.
  void clear();
  /// errno or 0.
  int bind(Socket& socket, const sockaddr* address, socklen_t address_bytes);
  int connect(Socket& socket, const sockaddr* address, socklen_t address_bytes);
  void remove(const Socket& socket);
  /// Connects two sockets, as socketpair() does.
  void join(Socket& one, Socket& other);

  void add(const std::shared_ptr<NativeWire>& wire) { native_wires_.push_back(wire); }

  /// Loses all that the present connections over the network carry from now on: a cut cable.
  void cut(World& world);
  /// Some of them.
  void cut_some(World& world);

  /// Unix sockets are not found, as from another container of the same machine: every connection goes over TCP.
  bool hides_unix_sockets = false;
  /// New connections have buffers of this size at least.
  std::size_t least_capacity_bytes = 0;
  /// The kernel takes any part of what is sent, however short that is.
  bool is_short_of_memory = false;
  /// One in ten of the network's packets is lost. It comes again after a while, and what follows it waits for it.
  bool loses_packets = false;
  /// Until then there are no descriptors for connections that arrive; and how often somebody tried to accept one.
  std::int64_t accepting_fails_until_ns = 0;
  std::uint64_t accepts_in_vain = 0;
  /// How often somebody dialled an address where nobody listens.
  std::uint64_t dials_in_vain = 0;
  /// By process.
  std::map<int, std::uint64_t> dials;
  /// That found bytes, by process.
  std::map<int, std::uint64_t> reads;

 private:
  std::map<std::string, Socket*> listeners_;
  std::vector<std::weak_ptr<Direction>> wires_;
  std::vector<std::weak_ptr<NativeWire>> native_wires_;
  std::uint16_t next_port_ = 40000;
};

}  // namespace framewire::sim
