// Free ports for sockets of the tests' own.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/file_descriptor.hpp"

namespace framewire::test {

/// Binds the TCP socket to a free port of 127.0.0.1, and returns its address. The test fails if there is none.
inline sockaddr_in bind_to_free_port(const FileDescriptor& socket) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size_bytes = sizeof at;
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), size_bytes), 0);
  EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&at), &size_bytes), 0);
  return at;
}

}  // namespace framewire::test
