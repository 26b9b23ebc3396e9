#include "tests/sim/sockets.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace framewire::sim {

namespace {

constexpr std::int64_t ns_per_us = 1000;

std::uint16_t port_of(const sockaddr_storage& address) {
  sockaddr_in v4{};
  std::memcpy(&v4, &address, sizeof v4);
  return address.ss_family == AF_UNIX ? std::uint16_t{0} : ntohs(v4.sin_port);
}

void set_port(sockaddr_storage& address, std::uint16_t port) {
  const std::uint16_t wire = htons(port);
  std::memcpy(reinterpret_cast<char*>(&address) + offsetof(sockaddr_in, sin_port), &wire, sizeof wire);
}

std::string key_of(const sockaddr_storage& address, socklen_t bytes) {
  if (address.ss_family == AF_UNIX) {
    return "unix " + std::string(reinterpret_cast<const char*>(&address), bytes);
  }
  return (address.ss_family == AF_INET ? "v4 " : "v6 ") + std::to_string(port_of(address));
}

}  // namespace

// ---- Directions and sockets ----

Direction::~Direction() {
  for (const Part& part : parts) {
    for (const PassedDescriptor& descriptor : part.descriptors) {
      if (descriptor.real_fd >= 0) {
        ::close(descriptor.real_fd);
      }
    }
  }
}

std::size_t Direction::arrived_bytes(std::int64_t now_ns) const {
  std::size_t bytes = 0;
  for (const Part& part : parts) {
    if (part.arrives_ns > now_ns) {
      break;
    }
    bytes += part.bytes.size();
  }
  return bytes;
}

void Direction::finish(World& world) {
  is_finished = true;
  if (ends_ns == INT64_MAX && cut_ns == INT64_MAX) {
    ends_ns = std::max(world.now_ns() + latency_ns, free_ns);
    world.will_happen(ends_ns);
  }
}

void Direction::cut(World& world) {
  if (cut_ns == INT64_MAX) {
    cut_ns = world.now_ns();
    give_up_in_time(world);
  }
}

void Direction::give_up_in_time(World& world) {
  if (cut_ns != INT64_MAX && keepalive_ns != INT64_MAX && resets_ns == INT64_MAX) {
    resets_ns = cut_ns + keepalive_ns;
    world.will_happen(resets_ns);
  }
}

Socket::~Socket() {
  hang_up();
}

void Socket::hang_up() {
  if (std::exchange(has_hung_up_, true)) {
    return;
  }
  Network::get().remove(*this);
  is_listening = false;
  for (const auto& waiting : pending) {
    waiting->out->resets_ns = world.now_ns();
  }
  if (!is_connected()) {
    return;
  }
  // As TCP does: to close with unread bytes, or to send to a closed socket, resets the connection.
  const std::int64_t then_ns = world.now_ns() + out->latency_ns;
  in->is_read = false;
  if ((in->waiting_bytes > 0 || resets_at_close) && out->cut_ns == INT64_MAX) {
    out->resets_ns = std::min(out->resets_ns, then_ns);
    world.will_happen(then_ns);
  }
  out->finish(world);
}

short Socket::events(const World& at) const {
  if (is_listening) {
    return static_cast<short>(pending.empty() ? 0 : POLLIN);
  }
  if (error != 0) {
    return POLLIN | POLLOUT | POLLERR | POLLHUP;
  }
  if (!is_connected()) {
    return POLLOUT | POLLHUP;
  }
  const std::int64_t now_ns = at.now_ns();
  if (in->resets_ns <= now_ns) {
    return POLLIN | POLLOUT | POLLERR | POLLHUP | POLLRDHUP;
  }
  short found = 0;
  const bool has_ended = in->ends_ns <= now_ns;
  // As the kernel: at most half of the buffer is waited for.
  if (has_ended || in->arrived_bytes(now_ns) >= std::min(receive_low_water_bytes, in->capacity_bytes / 2)) {
    found |= POLLIN;
  }
  if (has_ended) {
    found |= POLLRDHUP;
  }
  // As the kernel: writable when a third of the buffer is free, or when a write would say why nothing can be sent.
  if ((domain == AF_UNIX && !out->is_read) || out->is_finished || out->waiting_bytes * 3 <= out->capacity_bytes * 2) {
    found |= POLLOUT;
  }
  if (has_ended && out->is_finished) {
    found |= POLLHUP;
  }
  return found;
}

std::uint32_t Epoll::ready_events(const Watch& watch, const World& world) {
  const FilePointer file = watch.file.lock();
  if (file == nullptr) {
    return 0;
  }
  const auto now = static_cast<std::uint32_t>(file->events(world));
  std::uint32_t ready = now & (watch.wanted.events | EPOLLERR | EPOLLHUP);
  const auto* const socket = dynamic_cast<const Socket*>(file.get());
  if ((watch.wanted.events & EPOLLET) != 0 && socket != nullptr && socket->is_connected()) {
    const bool is_news = socket->in->arrived_bytes(world.now_ns()) > watch.reported_bytes || (now & POLLRDHUP) != 0;
    ready = is_news ? ready : 0;
  }
  return ready;
}

short Epoll::events(const World& world) const {
  const bool any = std::ranges::any_of(watches, [&](const auto& one) { return ready_events(one.second, world) != 0; });
  return static_cast<short>(any ? POLLIN : 0);
}

int get_option(const Socket& socket, int level, int option, void* value, socklen_t* bytes) {
  const auto give = [&](const auto& found) {
    *bytes = std::min<socklen_t>(*bytes, sizeof found);
    std::memcpy(value, &found, *bytes);
    return 0;
  };
  if (level == SOL_SOCKET && option == SO_ERROR) {
    return give(socket.error);
  }
  if (level == SOL_SOCKET && option == SO_DOMAIN) {
    return give(socket.domain);
  }
  if (level == SOL_SOCKET && option == SO_TYPE) {
    return give(int{SOCK_STREAM});
  }
  if (level == SOL_SOCKET && option == SO_PEERCRED) {
    return give(ucred{.pid = ::getpid(), .uid = ::geteuid(), .gid = ::getegid()});
  }
  if (level == IPPROTO_TCP && option == TCP_INFO && socket.domain != AF_UNIX && socket.is_connected()) {
    tcp_info info{};
    if (socket.out->cut_ns != INT64_MAX) {
      // Nobody notices by a wire on which nothing is sent, unless the kernel probes it.
      info.tcpi_unacked = socket.out->lost_bytes > 0 ? 1 : 0;
      info.tcpi_retransmits = socket.out->lost_bytes > 0 ? 1 : 0;
      info.tcpi_probes = socket.in->keepalive_ns != INT64_MAX ? 2 : 0;
      info.tcpi_last_ack_recv = static_cast<std::uint32_t>((socket.world.now_ns() - socket.out->cut_ns) / 1'000'000);
    }
    return give(info);
  }
  errno = EOPNOTSUPP;
  return -1;
}

// ---- The network ----

Network& Network::get() {
  static Network network;
  return network;
}

void Network::clear() {
  listeners_.clear();
  wires_.clear();
  native_wires_.clear();
  next_port_ = 40000;
  hides_unix_sockets = false;
  least_capacity_bytes = 0;
  is_short_of_memory = false;
  loses_packets = false;
  accepting_fails_until_ns = 0;
  accepts_in_vain = 0;
  dials_in_vain = 0;
  dials.clear();
  reads.clear();
}

int Network::bind(Socket& socket, const sockaddr* address, socklen_t address_bytes) {
  std::memcpy(&socket.own, address, address_bytes);
  socket.own_bytes = address_bytes;
  if (socket.domain != AF_UNIX && port_of(socket.own) == 0) {
    set_port(socket.own, next_port_++);
  }
  const std::string key = key_of(socket.own, address_bytes);
  const auto [place, is_free] = listeners_.try_emplace(key, &socket);
  if (!is_free && (socket.domain == AF_UNIX || place->second->is_listening)) {
    return EADDRINUSE;
  }
  place->second = &socket;  // with SO_REUSEADDR, which ours set, also beside one that does not listen
  socket.bound_to = key;
  return 0;
}

void Network::remove(const Socket& socket) {
  const auto place = listeners_.find(socket.bound_to);
  if (place != listeners_.end() && place->second == &socket) {
    listeners_.erase(place);
  }
}

void Network::join(Socket& one, Socket& other) {
  World& world = one.world;
  const bool is_network = one.domain != AF_UNIX;
  constexpr std::size_t capacities_bytes[] = {4096, std::size_t{64} * 1024, std::size_t{256} * 1024};
  for (int i = 0; i < 2; ++i) {
    auto direction = std::make_shared<Direction>();
    direction->capacity_bytes = std::max(capacities_bytes[world.below(3)], least_capacity_bytes);
    direction->latency_ns = is_network ? static_cast<std::int64_t>(world.below(200)) * ns_per_us : 0;
    (i == 0 ? one.out : one.in) = direction;
    (i == 0 ? other.in : other.out) = direction;
    if (is_network) {
      wires_.push_back(direction);
    }
  }
}

int Network::connect(Socket& socket, const sockaddr* address, socklen_t address_bytes) {
  sockaddr_storage to{};
  std::memcpy(&to, address, address_bytes);
  ++dials[socket.world.process()];
  const auto found = listeners_.find(key_of(to, address_bytes));
  const bool is_hidden = socket.domain == AF_UNIX && hides_unix_sockets;
  if (found == listeners_.end() || !found->second->is_listening || is_hidden) {
    dials_in_vain += socket.domain == AF_UNIX ? 0 : 1;
    return ECONNREFUSED;
  }
  Socket& listener = *found->second;
  constexpr std::size_t backlog = 128;
  if (listener.pending.size() >= backlog) {
    return socket.domain == AF_UNIX ? EAGAIN : ETIMEDOUT;
  }
  auto accepted = std::make_shared<Socket>(socket.domain, socket.world);
  join(socket, *accepted);
  socket.peer = to;
  socket.peer_bytes = address_bytes;
  if (socket.own_bytes == 0 && socket.domain != AF_UNIX) {
    socket.own = to;
    set_port(socket.own, next_port_++);
    socket.own_bytes = address_bytes;
  }
  accepted->own = to;
  accepted->own_bytes = address_bytes;
  accepted->peer = socket.own;
  accepted->peer_bytes = socket.own_bytes;
  // Connections can be accepted in another order than they were made.
  const std::size_t place =
      socket.world.chance(30) ? socket.world.below(listener.pending.size() + 1) : listener.pending.size();
  listener.pending.insert(listener.pending.begin() + static_cast<std::ptrdiff_t>(place), std::move(accepted));
  return 0;
}

/// The two directions of a connection were added one after the other.
void Network::cut_some(World& world) {
  for (std::size_t i = 0; i + 1 < wires_.size(); i += 2) {
    if (world.chance(50)) {
      for (const auto& weak : {wires_[i], wires_[i + 1]}) {
        if (const auto wire = weak.lock(); wire != nullptr) {
          wire->cut(world);
        }
      }
    }
  }
}

void Network::cut(World& world) {
  for (const auto& weak : wires_) {
    if (const auto wire = weak.lock(); wire != nullptr) {
      wire->cut(world);
    }
  }
  for (const auto& weak : native_wires_) {
    if (const auto wire = weak.lock(); wire != nullptr) {
      wire->is_cut = true;
    }
  }
}

}  // namespace framewire::sim
