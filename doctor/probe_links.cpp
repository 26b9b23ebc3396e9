// Small ones of what the local and the tcp link need, to see whether this machine lets a user have them.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/wait.hpp"
#include "doctor/probe.hpp"
#include "memory/host_block.hpp"

namespace framewire {

namespace {

constexpr std::int64_t connect_timeout_ns = 2 * ns_per_s;

/// Both ends of a connection to `address`, which is left free to the system's choice. Throws Error.
void connect_to_itself(int family, const sockaddr* wanted, socklen_t wanted_bytes) {
  const FileDescriptor listener(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_storage address{};
  socklen_t bytes = sizeof address;
  if (!listener.valid() || ::bind(listener.get(), wanted, wanted_bytes) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &bytes) != 0) {
    throw Error::from_errno("listen", errno);
  }
  const FileDescriptor dialler(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int result =
      dialler.valid() ? ::connect(dialler.get(), reinterpret_cast<const sockaddr*>(&address), bytes) : -1;
  if (result != 0 && errno != EINPROGRESS) {
    throw Error::from_errno("connect", errno);
  }
  if (!wait_for(listener.get(), POLLIN, monotonic_ns() + connect_timeout_ns)) {
    throw Error::failed("a connection did not arrive within 2 s; is a firewall rule on the loopback interface?");
  }
}

void try_local() {
  HostBlock::map_read_only(FileDescriptor(::dup(HostBlock::create("a page", 4096)->memfd())), 4096);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;  // a size of the family alone: the kernel picks an abstract name
  connect_to_itself(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address.sun_family);
}

void try_tcp() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  connect_to_itself(AF_INET, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

template <typename Function>
std::string trouble_of(Function attempt) {
  try {
    attempt();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

LinkFacts probe_links() {
  return {trouble_of(try_local), trouble_of(try_tcp)};
}

}  // namespace framewire
