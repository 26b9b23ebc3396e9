// What the kernel reports about a TCP connection of another process, found by its addresses.
#include "ssh/controller_liveness.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <string>

#include "tests/base/ipv6.hpp"

namespace framewire {
namespace {

/// Both ends of a TCP connection over loopback, and its name in sshd's format (SSH_CONNECTION).
struct Connected {
  FileDescriptor client;
  FileDescriptor server;
  std::string name;
};

std::uint16_t port_of(int socket) {
  sockaddr_in6 address{};
  socklen_t size = sizeof address;
  EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ntohs(address.sin6_port);  // sin_port and sin6_port have the same offset
}

/// Connects two loopback addresses. `listening` may be an IPv6 address that also accepts IPv4.
Connected connect(const sockaddr* listening, const sockaddr* dialled, socklen_t listening_bytes,
                  socklen_t dialled_bytes, const std::string& text) {
  const FileDescriptor listener(::socket(listening->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(listener.get(), listening, listening_bytes), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  sockaddr_in6 to{};
  std::memcpy(&to, dialled, dialled_bytes);
  to.sin6_port = htons(port_of(listener.get()));
  Connected made;
  made.client.reset(::socket(dialled->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(made.client.get(), reinterpret_cast<const sockaddr*>(&to), dialled_bytes), 0);
  made.server.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  made.name = text + " " + std::to_string(port_of(made.client.get())) + " " + text + " " +
              std::to_string(port_of(made.server.get()));
  return made;
}

sockaddr_in v4() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

sockaddr_in6 v6(const in6_addr& host) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = host;
  return address;
}

void expect_known(const Connected& one) {
  const auto info = ControllerLiveness(one.name).query();
  ASSERT_TRUE(info) << one.name;
  EXPECT_EQ(info->tcpi_state, TCP_ESTABLISHED);
  EXPECT_FALSE(ControllerLiveness(one.name).is_silent(0)) << "everything is acknowledged";
}

TEST(ControllerLiveness, KnowsAConnectionByItsAddresses) {
  const sockaddr_in four = v4();
  const auto* generic = reinterpret_cast<const sockaddr*>(&four);
  expect_known(connect(generic, generic, sizeof four, sizeof four, "127.0.0.1"));
}

TEST(ControllerLiveness, KnowsOneOverIpv6) {
  if (!test::has_ipv6()) {
    GTEST_SKIP() << "no IPv6 here";
  }
  const sockaddr_in6 six = v6(in6addr_loopback);
  const auto* generic = reinterpret_cast<const sockaddr*>(&six);
  expect_known(connect(generic, generic, sizeof six, sizeof six, "::1"));
}

/// As with an sshd that listens on IPv4 and IPv6 with one socket.
TEST(ControllerLiveness, KnowsOneOverIpv4ThatCameToASocketOfIpv6) {
  const sockaddr_in four = v4();
  const sockaddr_in6 any = v6(in6addr_any);
  expect_known(connect(reinterpret_cast<const sockaddr*>(&any), reinterpret_cast<const sockaddr*>(&four), sizeof any,
                       sizeof four, "127.0.0.1"));
}

TEST(ControllerLiveness, KnowsNothingOfWhatIsNone) {
  const sockaddr_in four = v4();
  const auto* generic = reinterpret_cast<const sockaddr*>(&four);
  std::string gone = connect(generic, generic, sizeof four, sizeof four, "127.0.0.1").name;
  for (const std::string& name : {std::string(), std::string("UNKNOWN 65535 UNKNOWN 65535"), std::string("127.0.0.1"),
                                  std::string("127.0.0.1 1 127.0.0.1 2"), std::string("127.0.0.1 99999 127.0.0.1 2"),
                                  std::string("fe80::1%lo 1 fe80::1%lo 2"), std::string("::1 1 127.0.0.1 2")}) {
    EXPECT_FALSE(ControllerLiveness(name).query()) << name;
    EXPECT_FALSE(ControllerLiveness(name).is_silent(0)) << name;
  }
  EXPECT_FALSE(ControllerLiveness(gone).is_silent(0));
}

}  // namespace
}  // namespace framewire
