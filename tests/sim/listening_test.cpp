// Listening on a simulated machine: what seldom happens on a real one.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>

#include "base/clock.hpp"
#include "base/file_descriptor.hpp"
#include "base/wait.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/temporary_folder.hpp"
#include "transport/control/dial.hpp"
#include "transport/control/listener.hpp"

namespace framewire::sim {
namespace {

class Listening : public testing::Test {
 protected:
  Listening() { ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1); }
  static bool can_be_reached(Listener& listener) {
    const DialledSocket dialled =
        dial({.host = "127.0.0.1", .port = listener.port()}, monotonic_ns() + test::timeout_ns, DialMode::tcp);
    auto descriptors = listener.descriptors();
    wait_until(descriptors, monotonic_ns() + test::timeout_ns);
    return listener.accept().has_value();
  }

  test::TemporaryFolder folder_;
};

/// Between two calls another program may take what was free.
TEST_F(Listening, TakesAnotherPortIfTheFreeOneIsTakenMeanwhile) {
  const FileDescriptor any(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t bytes = sizeof address;
  ASSERT_EQ(::bind(any.get(), reinterpret_cast<const sockaddr*>(&address), bytes), 0);
  ASSERT_EQ(::getsockname(any.get(), reinterpret_cast<sockaddr*>(&address), &bytes), 0);
  const auto next =
      static_cast<std::uint16_t>(ntohs(address.sin_port) + 1);  // ports are given one after the other here
  const FileDescriptor other_program(::socket(AF_UNIX, SOCK_STREAM, 0));
  const SocketAddress taken = unix_address(next);
  ASSERT_EQ(::bind(other_program.get(), taken.get(), taken.size_bytes), 0);
  Listener listener({.at = {.host = "127.0.0.1", .port = 0}});
  EXPECT_GT(listener.port(), next);
  EXPECT_TRUE(can_be_reached(listener));
}

TEST_F(Listening, OnAllAddressesIsPossibleWithoutIpv6) {
  Listener listener({.at = {.host = "*", .port = 5290}, .has_key = true});
  ASSERT_EQ(listener.addresses().size(), 1U);
  EXPECT_EQ(listener.addresses().front().family(), AF_INET) << "this machine has no other";
  EXPECT_TRUE(can_be_reached(listener));
}

}  // namespace
}  // namespace framewire::sim
