// Whether this machine has IPv6: containers may have none.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/file_descriptor.hpp"

namespace framewire::test {

/// Whether ::1 is an address here.
inline bool has_ipv6() {
  sockaddr_in6 loopback{};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  const FileDescriptor probe(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::bind(probe.get(), reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback) == 0;
}

}  // namespace framewire::test
