// Descriptors of a simulated world, in place of the C library's.
#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <utility>

#include "tests/sim/c_library.hpp"
#include "tests/sim/descriptors.hpp"
#include "tests/sim/sockets.hpp"
#include "tests/sim/transfer.hpp"

namespace framewire::sim {

namespace {

bool fill_events(World& world, std::span<pollfd> polled) {
  bool any = false;
  for (pollfd& one : polled) {
    one.revents = 0;
    if (one.fd < first_fd) {
      continue;
    }
    constexpr short always = POLLERR | POLLHUP;
    one.revents = static_cast<short>(descriptors().file(world, one.fd)->events(world) & (one.events | always));
    any = any || one.revents != 0;
  }
  return any;
}

int poll_until(World& world, std::span<pollfd> polled, std::int64_t deadline_ns) {
  world.point();
  world.block(
      "descriptors", [&] { return fill_events(world, polled); }, world.stretched_ns(deadline_ns));
  return static_cast<int>(std::ranges::count_if(polled, [](const pollfd& one) { return one.revents != 0; }));
}

std::int64_t deadline_in(const World& world, std::int64_t timeout_ns) {
  return timeout_ns > INT64_MAX - world.now_ns() ? INT64_MAX : world.now_ns() + timeout_ns;
}

}  // namespace

}  // namespace framewire::sim

using namespace framewire::sim;  // the functions below are the C library's, and all speak of these types

namespace {

/// The C library's function, for descriptors and threads that are not simulated.
template <typename Function>
Function* original(const char* name) noexcept {
  Function* function = nullptr;
  find_next(function, name);
  return function;
}

}  // namespace

#define ORIGINAL(name)                                          \
  (*[] {                                                        \
    static auto* const found = original<decltype(name)>(#name); \
    return found;                                               \
  }())

// The C library's headers have reserved names for the arguments.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" {

int socket(int domain, int type, int protocol) noexcept {
  World* const world = World::current();
  if (world == nullptr || (domain != AF_INET && domain != AF_UNIX)) {
    return world == nullptr ? ORIGINAL(socket)(domain, type, protocol) : failed(EAFNOSUPPORT);
  }
  world->point();
  if (world->fails("socket")) {
    return failed(EMFILE);
  }
  auto created = std::make_shared<Socket>(domain, *world);
  created->is_non_blocking = (type & SOCK_NONBLOCK) != 0;
  return descriptors().add(std::move(created));
}

int socketpair(int domain, int type, int protocol, int* ends) noexcept {
  World* const world = World::current();
  if (world == nullptr) {
    return ORIGINAL(socketpair)(domain, type, protocol, ends);
  }
  world->point();
  if (world->fails("socketpair")) {
    return failed(EMFILE);
  }
  std::array<std::shared_ptr<Socket>, 2> both;
  for (auto& one : both) {
    one = std::make_shared<Socket>(domain, *world);
    one->is_non_blocking = (type & SOCK_NONBLOCK) != 0;
  }
  Network::get().join(*both[0], *both[1]);
  ends[0] = descriptors().add(both[0]);
  ends[1] = descriptors().add(both[1]);
  return 0;
}

int bind(int fd, const sockaddr* address, socklen_t bytes) noexcept {
  World* const world = world_of(fd);
  if (world == nullptr) {
    return ORIGINAL(bind)(fd, address, bytes);
  }
  const int error_number = Network::get().bind(*file_of<Socket>(*world, fd), address, bytes);
  return error_number == 0 ? 0 : failed(error_number);
}

int listen(int fd, int backlog) noexcept {
  World* const world = world_of(fd);
  if (world == nullptr) {
    return ORIGINAL(listen)(fd, backlog);
  }
  file_of<Socket>(*world, fd)->is_listening = true;
  return 0;
}

int accept4(int fd, sockaddr* address, socklen_t* bytes, int flags) {
  World* const world = world_of(fd);
  if (world == nullptr) {
    return ORIGINAL(accept4)(fd, address, bytes, flags);
  }
  world->point();
  const auto listener = file_of<Socket>(*world, fd);
  if (listener->pending.empty()) {
    return failed(EAGAIN);
  }
  const bool fails_for_a_while = world->now_ns() < Network::get().accepting_fails_until_ns;
  Network::get().accepts_in_vain += fails_for_a_while ? 1 : 0;
  if (fails_for_a_while || world->fails("accept4")) {
    return failed(EMFILE);
  }
  auto accepted = listener->pending.front();
  listener->pending.pop_front();
  accepted->is_non_blocking = (flags & SOCK_NONBLOCK) != 0;
  if (address != nullptr) {
    *bytes = std::min(*bytes, accepted->peer_bytes);
    std::memcpy(address, &accepted->peer, *bytes);
  }
  const int accepted_fd = descriptors().add(std::move(accepted));
  world->trace("accept4(%d) = %d", fd, accepted_fd);
  return accepted_fd;
}

int connect(int fd, const sockaddr* address, socklen_t bytes) {
  World* const world = world_of(fd);
  if (world == nullptr) {
    return ORIGINAL(connect)(fd, address, bytes);
  }
  world->point();
  world->trace("connect(%d)", fd);
  const int error_number = Network::get().connect(*file_of<Socket>(*world, fd), address, bytes);
  return error_number == 0 ? 0 : failed(error_number);
}

int shutdown(int fd, int how) noexcept {
  World* const world = world_of(fd);
  if (world == nullptr) {
    return ORIGINAL(shutdown)(fd, how);
  }
  world->point();
  const auto socket = file_of<Socket>(*world, fd);
  if (!socket->is_connected()) {
    return failed(ENOTCONN);
  }
  world->trace("shutdown(%d, %d)", fd, how);
  if (how != SHUT_RD) {
    socket->out->finish(*world);
  }
  if (how != SHUT_WR) {
    socket->in->ends_ns = std::min(socket->in->ends_ns, world->now_ns());
    socket->in->is_read = socket->in->is_read && socket->domain != AF_UNIX;
  }
  return 0;
}

int getsockname(int fd, sockaddr* address, socklen_t* bytes) noexcept {
  World* const world = world_of(fd);
  if (world == nullptr) {
    return ORIGINAL(getsockname)(fd, address, bytes);
  }
  const auto socket = file_of<Socket>(*world, fd);
  *bytes = std::min(*bytes, socket->own_bytes);
  std::memcpy(address, &socket->own, *bytes);
  return 0;
}

int getpeername(int fd, sockaddr* address, socklen_t* bytes) noexcept {
  World* const world = world_of(fd);
  if (world == nullptr) {
    return ORIGINAL(getpeername)(fd, address, bytes);
  }
  const auto socket = file_of<Socket>(*world, fd);
  if (!socket->is_connected()) {
    return failed(ENOTCONN);
  }
  *bytes = std::min(*bytes, socket->peer_bytes);
  std::memcpy(address, &socket->peer, *bytes);
  return 0;
}

int getsockopt(int fd, int level, int option, void* value, socklen_t* bytes) noexcept {
  World* const world = world_of(fd);
  return world == nullptr ? ORIGINAL(getsockopt)(fd, level, option, value, bytes)
                          : get_option(*file_of<Socket>(*world, fd), level, option, value, bytes);
}

int setsockopt(int fd, int level, int option, const void* value, socklen_t bytes) noexcept {
  World* const world = world_of(fd);
  if (world == nullptr) {
    return ORIGINAL(setsockopt)(fd, level, option, value, bytes);
  }
  const auto socket = file_of<Socket>(*world, fd);
  if (level == SOL_SOCKET && option == SO_RCVLOWAT) {
    int low_water_bytes = 1;
    std::memcpy(&low_water_bytes, value, sizeof low_water_bytes);
    socket->receive_low_water_bytes = static_cast<std::size_t>(std::max(1, low_water_bytes));
  }
  if (level == SOL_SOCKET && option == SO_LINGER) {
    linger wanted{};
    std::memcpy(&wanted, value, sizeof wanted);
    socket->resets_at_close = wanted.l_onoff != 0 && wanted.l_linger == 0;
  }
  if (level == SOL_SOCKET && option == SO_KEEPALIVE && socket->is_connected()) {
    socket->in->keepalive_ns = 5'000'000'000;  // about what transport/socket_state.hpp asks for
    socket->in->give_up_in_time(*world);
  }
  return 0;
}

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  World* const world = world_of(fd);
  if (world == nullptr) {
    return ORIGINAL(sendmsg)(fd, message, flags);
  }
  world->point();
  const ssize_t sent = send_some(*world, file_of<Socket>(*world, fd), gather({message->msg_iov, message->msg_iovlen}),
                                 flags, descriptors_to_pass(*world, *message));
  world->trace("sendmsg(%d) = %zd", fd, sent);
  return sent;
}

ssize_t send(int fd, const void* bytes, size_t count, int flags) {
  World* const world = world_of(fd);
  if (world == nullptr) {
    return ORIGINAL(send)(fd, bytes, count, flags);
  }
  world->point();
  const ssize_t sent =
      send_some(*world, file_of<Socket>(*world, fd), std::string(static_cast<const char*>(bytes), count), flags, {});
  world->trace("send(%d, %zu) = %zd", fd, count, sent);
  return sent;
}

ssize_t recvmsg(int fd, msghdr* message, int flags) {
  World* const world = world_of(fd);
  if (world == nullptr) {
    return ORIGINAL(recvmsg)(fd, message, flags);
  }
  world->point();
  const std::span<const iovec> parts(message->msg_iov, message->msg_iovlen);
  std::string bytes;
  std::vector<PassedDescriptor> passed;
  const ssize_t got = receive_some(*world, file_of<Socket>(*world, fd), bytes, size_of(parts), flags, &passed);
  message->msg_flags = 0;
  if (got >= 0) {
    scatter(bytes, parts);
    hand_over(*message, passed);
  }
  return got;
}

ssize_t recv(int fd, void* into, size_t count, int flags) {
  World* const world = world_of(fd);
  if (world == nullptr) {
    return ORIGINAL(recv)(fd, into, count, flags);
  }
  world->point();
  std::string bytes;
  const ssize_t got = receive_some(*world, file_of<Socket>(*world, fd), bytes, count, flags, nullptr);
  world->trace("recv(%d, %zu, %d) = %zd", fd, count, flags, got);
  if (got > 0) {
    std::memcpy(into, bytes.data(), bytes.size());
  }
  return got;
}

ssize_t read(int fd, void* into, size_t count) {
  World* const world = world_of(fd);
  if (world == nullptr) {
    return ORIGINAL(read)(fd, into, count);
  }
  const auto event = file_of<Eventfd>(*world, fd);
  if (event == nullptr) {
    return recv(fd, into, count, 0);
  }
  world->point();
  if (event->count == 0) {
    if (!event->is_non_blocking) {
      world->fail("a blocking read of an eventfd");
    }
    return failed(EAGAIN);
  }
  std::memcpy(into, &event->count, sizeof event->count);
  event->count = 0;
  return sizeof event->count;
}

ssize_t write(int fd, const void* from, size_t count) {
  World* const world = world_of(fd);
  if (world == nullptr) {
    return ORIGINAL(write)(fd, from, count);
  }
  const auto event = file_of<Eventfd>(*world, fd);
  if (event == nullptr) {
    return send(fd, from, count, 0);
  }
  std::uint64_t added = 0;
  std::memcpy(&added, from, sizeof added);
  event->count += added;
  world->point();
  return sizeof added;
}

ssize_t sendfile(int fd, int file, off_t* offset, size_t count) noexcept {
  World* const world = world_of(fd);
  if (world == nullptr) {
    return ORIGINAL(sendfile)(fd, file, offset, count);
  }
  std::string bytes(std::min<std::size_t>(count, 65536), '\0');
  const ssize_t got = ::pread(file, bytes.data(), bytes.size(), *offset);
  if (got <= 0) {
    return got;
  }
  bytes.resize(static_cast<std::size_t>(got));
  const ssize_t sent = send_some(*world, file_of<Socket>(*world, fd), bytes, MSG_NOSIGNAL, {});
  *offset += std::max<ssize_t>(0, sent);
  return sent;
}

int ppoll(pollfd* polled, nfds_t count, const timespec* timeout, const sigset_t* signals) {
  World* const world = World::current();
  if (world == nullptr) {
    return ORIGINAL(ppoll)(polled, count, timeout, signals);
  }
  const std::int64_t timeout_ns = timeout == nullptr ? INT64_MAX
                                  : timeout->tv_sec >= INT64_MAX / 1'000'000'000
                                      ? INT64_MAX
                                      : timeout->tv_sec * 1'000'000'000 + timeout->tv_nsec;
  return poll_until(*world, {polled, count}, deadline_in(*world, timeout_ns));
}

int poll(pollfd* polled, nfds_t count, int timeout_ms) {
  World* const world = World::current();
  if (world == nullptr) {
    return ORIGINAL(poll)(polled, count, timeout_ms);
  }
  return poll_until(*world, {polled, count},
                    timeout_ms < 0 ? INT64_MAX : deadline_in(*world, std::int64_t{timeout_ms} * 1'000'000));
}

int eventfd(unsigned initial, int flags) noexcept {
  World* const world = World::current();
  if (world == nullptr) {
    return ORIGINAL(eventfd)(initial, flags);
  }
  world->point();
  if (world->fails("eventfd")) {
    return failed(EMFILE);
  }
  auto event = std::make_shared<Eventfd>();
  event->count = initial;
  event->is_non_blocking = (flags & EFD_NONBLOCK) != 0;
  return descriptors().add(std::move(event));
}

int epoll_create1(int flags) noexcept {
  World* const world = World::current();
  if (world == nullptr) {
    return ORIGINAL(epoll_create1)(flags);
  }
  world->point();
  return world->fails("epoll_create1") ? failed(EMFILE) : descriptors().add(std::make_shared<Epoll>());
}

int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
  World* const world = world_of(epoll);
  if (world == nullptr) {
    return ORIGINAL(epoll_ctl)(epoll, operation, fd, event);
  }
  auto& watches = file_of<Epoll>(*world, epoll)->watches;
  if (operation == EPOLL_CTL_DEL) {
    watches.erase(fd);
  } else {
    watches[fd] = {.wanted = *event, .file = descriptors().file(*world, fd)};
  }
  return 0;
}

int epoll_wait(int epoll, epoll_event* events, int limit, int timeout_ms) {
  World* const world = world_of(epoll);
  if (world == nullptr) {
    return ORIGINAL(epoll_wait)(epoll, events, limit, timeout_ms);
  }
  pollfd one{.fd = epoll, .events = POLLIN, .revents = 0};
  poll_until(*world, {&one, 1}, timeout_ms < 0 ? INT64_MAX : deadline_in(*world, std::int64_t{timeout_ms} * 1'000'000));
  int count = 0;
  for (auto& [fd, watch] : file_of<Epoll>(*world, epoll)->watches) {
    const std::uint32_t ready = Epoll::ready_events(watch, *world);
    if (ready != 0 && count < limit) {
      events[count] = {.events = ready, .data = watch.wanted.data};
      ++count;
      if (const auto socket = std::dynamic_pointer_cast<Socket>(watch.file.lock()); socket && socket->is_connected()) {
        watch.reported_bytes = socket->in->arrived_bytes(world->now_ns());
      }
    }
  }
  return count;
}

int fcntl(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  World* const world = world_of(fd);
  if (world == nullptr) {
    return ORIGINAL(fcntl)(fd, command, argument);
  }
  const FilePointer file = descriptors().file(*world, fd);
  const auto number = static_cast<int>(reinterpret_cast<std::intptr_t>(argument));
  switch (command) {
    case F_DUPFD_CLOEXEC:
      world->point();
      return world->fails("dup") ? failed(EMFILE) : descriptors().add(file);
    case F_GETFL:
      return O_RDWR | (file->is_non_blocking ? O_NONBLOCK : 0);
    case F_SETFL:
      file->is_non_blocking = (number & O_NONBLOCK) != 0;
      return 0;
    default:
      return failed(EINVAL);
  }
}

int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list arguments;
  va_start(arguments, request);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  World* const world = world_of(fd);
  if (world == nullptr) {
    return ORIGINAL(ioctl)(fd, request, argument);
  }
  const auto socket = file_of<Socket>(*world, fd);
  if (!socket->is_connected() || (request != SIOCOUTQ && request != SIOCINQ)) {
    return failed(ENOTTY);
  }
  const std::int64_t now_ns = world->now_ns();
  const Direction& out = *socket->out;
  const std::size_t bytes =
      request == SIOCINQ ? socket->in->arrived_bytes(now_ns) : out.waiting_bytes - out.arrived_bytes(now_ns);
  const int count = static_cast<int>(bytes);
  std::memcpy(argument, &count, sizeof count);
  return 0;
}

int close(int fd) {
  World* const world = world_of(fd);
  if (world == nullptr) {
    return ORIGINAL(close)(fd);
  }
  world->point();
  world->trace("close(%d)", fd);
  descriptors().close(*world, fd);
  return 0;
}

}  // extern "C"
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
