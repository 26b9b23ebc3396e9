// A connection whose peer is a fuzz target.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <span>

#include "base/file_descriptor.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace framewire::fuzz {

struct Ends {
  FileDescriptor ours;
  FileDescriptor peer;
};

inline Ends socket_pair() {
  std::array fds = {-1, -1};
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) == 0, "there are sockets");
  return {FileDescriptor(fds[0]), FileDescriptor(fds[1])};
}

/// Sends these bytes and nothing more. What does not fit the socket's memory is left away.
inline void send_and_end(int fd, std::span<const std::byte> bytes) {
  static_cast<void>(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  ::shutdown(fd, SHUT_WR);
}

/// Our end of a connection whose peer has sent these bytes, and nothing more.
inline Ends after_sending(std::span<const std::byte> bytes) {
  Ends ends = socket_pair();
  send_and_end(ends.peer.get(), bytes);
  return ends;
}

}  // namespace framewire::fuzz
