#include "tests/contract/link_pairs.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <future>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "base/clock.hpp"
#include "base/wait.hpp"
#include "tests/base/seed.hpp"
#include "tests/memory/untouchable_memory.hpp"
#include "tests/rdma_lab/accepting_side.hpp"
#include "transport/control/token.hpp"
#include "transport/fake/fake_wire.hpp"
#include "transport/local/local_receiver.hpp"
#include "transport/local/local_sender.hpp"
#include "transport/rdma/addresses.hpp"
#include "transport/rdma/rdma_receiver.hpp"
#include "transport/rdma/rdma_sender.hpp"
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

const UntouchableMemory& untouchable() {
  static const UntouchableMemory memory("untouchable", chosen_seed());
  return memory;
}

LinkPair make_local(std::string_view viewer_memory) {
  auto [a, b] = unix_socket_pair();
  LinkPair pair;
  pair.cut = cutter(a.get());
  pair.sender = std::make_unique<LocalSender>(std::move(a), std::vector{std::string(viewer_memory)});
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

LinkPair make_tcp_driven() {
  LinkPair pair = make_tcp();
  pair.driving = std::make_unique<DrivingThread>(*pair.receiver);
  return pair;
}

LinkPair make_tcp_tls() {
  constexpr std::uint32_t records_per_key = 3;  // changes the key all the time
  auto [a, b] = tcp_socket_pair();
  LinkPair pair;
  pair.cut = cutter(a.get());
  auto [sender, receiver] = tls_wire_pair(std::move(a), std::move(b), records_per_key);
  pair.sender = std::make_unique<TcpSender>(std::move(sender), peer_timeout_ns);
  pair.receiver = std::make_unique<TcpReceiver>(std::move(receiver), peer_timeout_ns);
  pair.let_pass = yield_a_little;
  return pair;
}

LinkPair make_rdma(const RdmaPreferences& preferences) {
  auto protection_domains = std::make_shared<SenderProtectionDomains>();
  auto [accepted, dialled] = rdma_connection_pair(*protection_domains, preferences);
  LinkPair pair;
  pair.cut = [raw = accepted.get()] { raw->disconnect(); };
  pair.sender = std::make_unique<RdmaSender>(std::move(accepted), *protection_domains);
  pair.receiver = std::make_unique<RdmaReceiver>(std::move(dialled), false);
  pair.let_pass = yield_a_little;
  pair.keeps_alive = protection_domains;
  return pair;
}

}  // namespace

std::optional<IncomingFrame> drive_and_poll(ReceiverLink& receiver) {
  auto frame = receiver.poll();
  if (!frame && receiver.drive()) {
    frame = receiver.poll();
  }
  return frame;
}

DrivingThread::DrivingThread(ReceiverLink& receiver) : receiver_(receiver) {
  thread_ = std::thread([this] {
    std::array descriptors{pollfd{.fd = stop_event_.get(), .events = POLLIN, .revents = 0},
                           pollfd{.fd = -1, .events = POLLIN, .revents = 0}};
    while (descriptors[0].revents == 0) {
      while (receiver_.drive()) {
      }
      descriptors[1].fd = receiver_.wire_descriptor();
      wait_until(descriptors, monotonic_ns() + ns_per_s);
    }
  });
}

DrivingThread::~DrivingThread() {
  signal_eventfd(stop_event_.get());
  thread_.join();
}

std::vector<LinkMaker> link_makers_with(const MemoryKind& memory,
                                        const std::function<std::span<std::byte>(const Block&)>& on_device) {
  const std::string name = "_" + std::string(memory.name());
  std::vector<LinkMaker> makers{
      {"local" + name, [&memory] { return make_local(memory.name()); }, &memory, &memory, on_device},
      {"tcp" + name, make_tcp, &memory, &memory, on_device},
      {"tcp_driven" + name, make_tcp_driven, &memory, &memory, on_device},
      {"tcp_tls" + name, make_tcp_tls, &memory, &memory, on_device}};
  if (!rdma_addresses().empty()) {
    const auto make = [] { return make_rdma({}); };
    makers.push_back({"rdma" + name, make, &memory, &memory, on_device});
    makers.push_back({"rdma_from" + name, make, &memory, &host_memory(), on_device});
    makers.push_back({"rdma_to" + name, make, &host_memory(), &memory, on_device});
  }
  return makers;
}

std::vector<LinkMaker> link_makers() {
  std::vector<LinkMaker> makers{
      {"fake", make_fake},       {"local", [] { return make_local({}); }},
      {"tcp", make_tcp},         {"tcp_driven", make_tcp_driven},
      {"tcp_tls", make_tcp_tls},
  };
  std::ranges::move(link_makers_with(untouchable(), UntouchableMemory::on_device), std::back_inserter(makers));
  if (!rdma_addresses().empty()) {
    makers.push_back({"rdma", [] { return make_rdma({}); }});
    // Like iWARP: no immediates, no memory windows.
    makers.push_back({"rdma_without_immediates", [] { return make_rdma({.immediates = false, .windows = false}); }});
    // The smallest possible queue: it is full all the time.
    makers.push_back(
        {"rdma_poor", [] { return make_rdma({.queue_depth = 8, .inline_bytes = 0, .chunk_bytes = 1000}); }});
  }
  return makers;
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

std::pair<std::unique_ptr<TlsWire>, std::unique_ptr<TlsWire>> tls_wire_pair(FileDescriptor dialler,
                                                                            FileDescriptor listener,
                                                                            std::uint32_t records_per_key) {
  const DataConnectionId connection{.session = random_session_id(), .link = LinkKind::tcp, .index = 0};
  const Key key = make_data_key(Token::random(), connection);
  const std::int64_t deadline_ns = monotonic_ns() + peer_timeout_ns;
  auto dialling = std::async(std::launch::async, [&] {
    return std::make_unique<TlsWire>(std::move(dialler), TlsRole::dialler, key, deadline_ns, -1, records_per_key);
  });
  auto listening =
      std::make_unique<TlsWire>(std::move(listener), TlsRole::listener, key, deadline_ns, -1, records_per_key);
  return {dialling.get(), std::move(listening)};
}

RdmaConnectionPair rdma_connection_pair(SenderProtectionDomains& protection_domains, const RdmaPreferences& preferences,
                                        bool receives_immediates, const ProtectionDomainOf& dialler_domain,
                                        std::optional<std::uint8_t> type_of_service) {
  AcceptingSide accepting(protection_domains, preferences, receives_immediates, type_of_service);
  const sockaddr_storage address = accepting.address();
  auto dialled = RdmaConnection::dial(
      reinterpret_cast<const sockaddr&>(address), "this machine", {}, [](std::span<const std::byte>) {},
      {.protection_domain_of = dialler_domain,
       .preferences = preferences,
       .type_of_service = type_of_service,
       .receives_immediates = receives_immediates},
      monotonic_ns() + connecting_ns);
  return {.accepted = accepting.take(), .dialled = std::move(dialled)};
}

}  // namespace framewire::test
