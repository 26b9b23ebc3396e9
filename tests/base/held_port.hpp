// A port that a test gives up and takes again, while others run beside it.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

#include "base/file_descriptor.hpp"
#include "tests/base/free_port.hpp"

namespace framewire::test {

/// A port of 127.0.0.1 at which nothing listens. Our own listeners may, as they set SO_REUSEADDR; the kernel gives it
/// to nobody who asks for any free one.
class HeldPort {
 public:
  /// The test fails if there is none.
  HeldPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    constexpr int yes = 1;
    EXPECT_EQ(::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
    port_ = ntohs(bind_to_free_port(socket_).sin_port);
  }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

 private:
  FileDescriptor socket_;
  std::uint16_t port_ = 0;
};

}  // namespace framewire::test
