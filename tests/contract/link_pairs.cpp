#include "tests/contract/link_pairs.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <thread>

#include "base/clock.hpp"
#include "tests/base/seed.hpp"
#include "transport/fake/fake_wire.hpp"
#include "transport/local/local_receiver.hpp"
#include "transport/local/local_sender.hpp"
#include "transport/tcp/tcp_receiver.hpp"
#include "transport/tcp/tcp_sender.hpp"

namespace framewire::test {

namespace {

constexpr std::int64_t peer_timeout_ns = 5 * ns_per_s;

void yield_a_little() {
  std::this_thread::sleep_for(std::chrono::microseconds(200));
}

/// A second descriptor of the same socket: shutting it down cuts the connection under the link.
std::function<void()> cutter(int socket) {
  auto copy = std::make_shared<FileDescriptor>(::dup(socket));
  return [copy] { ::shutdown(copy->get(), SHUT_RDWR); };
}

LinkPair make_fake() {
  struct World {
    VirtualClock clock;
    std::unique_ptr<FakeWire> wire;
  };
  auto world = std::make_shared<World>();
  world->wire = std::make_unique<FakeWire>(world->clock, FakeWireOptions{.seed = chosen_seed()});
  LinkPair pair;
  pair.sender = world->wire->take_sender();
  pair.receiver = world->wire->take_receiver();
  pair.let_pass = [world] { world->wire->step(); };
  pair.cut = [world] { world->wire->cut(); };
  pair.keeps_alive = world;
  return pair;
}

LinkPair make_local() {
  auto [a, b] = unix_socket_pair();
  LinkPair pair;
  pair.cut = cutter(a.get());
  pair.sender = std::make_unique<LocalSender>(std::move(a));
  pair.receiver = std::make_unique<LocalReceiver>(std::move(b), monotonic_ns() + peer_timeout_ns);
  pair.let_pass = [] {};
  return pair;
}

LinkPair make_tcp() {
  auto [a, b] = tcp_socket_pair();
  LinkPair pair;
  pair.cut = cutter(a.get());
  pair.sender = std::make_unique<TcpSender>(std::move(a), peer_timeout_ns);
  pair.receiver = std::make_unique<TcpReceiver>(std::move(b), peer_timeout_ns);
  pair.let_pass = yield_a_little;
  return pair;
}

}  // namespace

std::vector<LinkMaker> link_makers() {
  return {{"fake", make_fake}, {"local", make_local}, {"tcp", make_tcp}};
}

std::pair<FileDescriptor, FileDescriptor> unix_socket_pair() {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) {
    throw std::runtime_error("socketpair");
  }
  return {FileDescriptor(fds[0]), FileDescriptor(fds[1])};
}

std::pair<FileDescriptor, FileDescriptor> tcp_socket_pair() {
  FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  FileDescriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::bind(listener.get(), generic, size) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), generic, &size) != 0 || ::connect(client.get(), generic, size) != 0) {
    throw std::runtime_error("loopback");
  }
  FileDescriptor server(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  return {std::move(client), std::move(server)};
}

}  // namespace framewire::test
