// What the simulated network says of a socket whose peer has closed it: the same as Linux over a real one.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string>

#include "base/clock.hpp"
#include "base/file_descriptor.hpp"
#include "base/wait.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/free_port.hpp"

namespace framewire::sim {
namespace {

class ClosedSockets : public testing::Test {
 protected:
  ClosedSockets() {
    const FileDescriptor listener(::socket(AF_INET, SOCK_STREAM, 0));
    const sockaddr_in at = test::bind_to_free_port(listener);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    EXPECT_EQ(::connect(peer_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    EXPECT_TRUE(wait_for(listener.get(), POLLIN, deadline_ns()));
    own_ = FileDescriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK));
  }

  static std::int64_t deadline_ns() { return monotonic_ns() + test::timeout_ns; }
  /// 0, or why nothing can be written.
  [[nodiscard]] int write_error() const {
    return ::send(own_.get(), "epoch", 5, MSG_NOSIGNAL | MSG_DONTWAIT) == 5 ? 0 : errno;
  }
  /// Waits for something to read.
  [[nodiscard]] std::string read() const {
    EXPECT_TRUE(wait_for(own_.get(), POLLIN, deadline_ns()));
    std::array<char, 100> bytes{};
    const ssize_t got = ::recv(own_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    return got < 0 ? "error" : std::string(bytes.data(), static_cast<std::size_t>(got));
  }

  FileDescriptor peer_{::socket(AF_INET, SOCK_STREAM, 0)};
  FileDescriptor own_;
};

/// Who finds that nothing can be written any more has all that the peer has said.
TEST_F(ClosedSockets, RefuseAWriteOnlyWhenAllThatThePeerSentIsThere) {
  ASSERT_EQ(::send(peer_.get(), "bye", 3, MSG_NOSIGNAL), 3);
  peer_.reset();
  EXPECT_EQ(write_error(), 0) << "the network has told of nothing yet";
  EXPECT_TRUE(test::eventually([&] { return write_error() == EPIPE; }));
  std::string heard;
  while (heard.size() < 3) {
    heard += read();
  }
  EXPECT_EQ(heard, "bye");
  EXPECT_EQ(read(), "") << "the peer has ended its stream before the reset";
}

}  // namespace
}  // namespace framewire::sim
