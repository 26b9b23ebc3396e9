#include "tests/sim/unauthenticated_peers.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>

#include "transport/address.hpp"

namespace framewire::sim {

namespace {

SocketAddress loopback_address(std::uint16_t port) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  SocketAddress address{.storage = {}, .size_bytes = sizeof v4};
  std::memcpy(&address.storage, &v4, sizeof v4);
  return address;
}

}  // namespace

UnauthenticatedPeers::UnauthenticatedPeers(World& world, std::uint64_t count, std::uint16_t port,
                                           std::int64_t within_ns, bool stay)
    : world_(world), port_(port), stay_(stay) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto after_ns = static_cast<std::int64_t>(world.below(static_cast<std::uint64_t>(within_ns)));
    threads_.emplace_back([this, after_ns] { visit(after_ns); });
  }
}

UnauthenticatedPeers::~UnauthenticatedPeers() {
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

int UnauthenticatedPeers::connected_fd() const {
  const bool is_unix = world_.chance(30);
  const SocketAddress to = is_unix ? unix_address(port_) : loopback_address(port_);
  const int fd = ::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && ::connect(fd, to.get(), to.size_bytes) != 0) {
    ::close(fd);
    return -1;
  }
  return fd;
}

std::string UnauthenticatedPeers::says() const {
  const std::array<std::string, 9> openings{
      "",
      "GET / HTTP/1.1\r\n\r\n",
      "FWCT",
      "FWCTRL99\r\n\r\n",
      "FWCTRL01\r",
      "FWDATA01",
      "FWDATA01" + std::string(100, 'x'),
      std::string("\x16\x03\x01\x00\x40\x01\x00\x00", 8),
      std::string("\x16\x03\x01\x00\x40\x01\x00\x00", 8) + std::string(200, '\x42'),
  };
  return openings[world_.below(openings.size())];
}

void UnauthenticatedPeers::visit(std::int64_t after_ns) const {
  world_.begin_process();
  std::this_thread::sleep_for(std::chrono::nanoseconds(after_ns));
  const int fd = connected_fd();
  if (fd < 0) {
    return;  // the listener has gone
  }
  if (stay_) {
    std::this_thread::sleep_for(std::chrono::seconds(20));
    ::close(fd);
    return;
  }
  const std::string opening = says();
  const std::size_t first = world_.below(opening.size() + 1);
  ::send(fd, opening.data(), first, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (world_.chance(50)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(world_.below(20)));
    ::send(fd, opening.data() + first, opening.size() - first, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  if (world_.chance(30)) {
    ::shutdown(fd, SHUT_WR);
  }
  if (world_.chance(60)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(world_.below(3000)));
  }
  ::close(fd);
}

}  // namespace framewire::sim
