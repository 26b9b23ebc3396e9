// The socket options of TCP connections, both dialled and accepted.
#include "transport/control/tcp_options.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"
#include "tests/base/ipv6.hpp"
#include "tests/transport/control_sockets.hpp"
#include "transport/control/dial.hpp"
#include "transport/control/listener.hpp"

namespace framewire {
namespace {

using test::accept_soon;
using test::has_no_delay;
using test::in_own_network;
using test::no_network;
using test::soon_ns;

constexpr int only_reno = 78;

std::string congestion_control(int socket) {
  std::array<char, 16> text{};  // TCP_CA_NAME_MAX of the kernel
  socklen_t size = text.size();
  return ::getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, text.data(), &size) == 0 ? text.data() : "";
}

sockaddr_in at(const char* address, std::uint16_t port = 0) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  ::inet_pton(AF_INET, address, &in.sin_addr);
  return in;
}

bool set_up_interface(int socket, const std::string& label, const char* address) {
  ifreq request{};
  label.copy(request.ifr_name, IFNAMSIZ - 1);
  const sockaddr_in in = at(address);
  std::memcpy(&request.ifr_addr, &in, sizeof in);
  if (::ioctl(socket, SIOCSIFADDR, &request) != 0) {
    return false;
  }
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  return ::ioctl(socket, SIOCSIFFLAGS, &request) == 0;
}

/// Gives the new network namespace addresses that count as those of network cards, not as loopback.
bool set_up_addresses() {
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return set_up_interface(socket.get(), "lo", "127.0.0.1") && set_up_interface(socket.get(), "lo:1", "192.0.2.7") &&
         set_up_interface(socket.get(), "lo:2", "192.0.2.8");
}

bool connect_from(int socket, const char* from, const char* to, std::uint16_t port) {
  const sockaddr_in here = at(from);
  const sockaddr_in there = at(to, port);
  return ::bind(socket, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0 &&
         ::connect(socket, reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0;
}

std::string default_congestion_control() {
  return congestion_control(FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)).get());
}

/// Makes another algorithm this network's default: with `reno` as the default the tests would see no difference. False
/// if the kernel has no other.
bool choose_another_than_reno() {
  std::ifstream names("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
  for (std::string name; default_congestion_control() == "reno" && names >> name;) {
    std::ofstream("/proc/sys/net/ipv4/tcp_congestion_control") << name;
  }
  return default_congestion_control() != "reno";
}

/// Returns the number of the failed expectation, from 2 on; 0 if none failed.
int test_over_a_network() {
  if (!set_up_addresses()) {
    return 2;
  }
  if (!choose_another_than_reno()) {
    return only_reno;
  }
  const std::string usual = default_congestion_control();
  Listener listener({.at = {.host = "*", .port = 0}, .insecure = true});
  const DialledSocket dialled = dial({.host = "192.0.2.7", .port = listener.port()}, soon_ns(), DialMode::tcp);
  const auto accepted = accept_soon(listener);
  if (congestion_control(dialled.fd.get()) != "reno") {
    return 3;
  }
  if (!accepted || congestion_control(accepted->fd.get()) != "reno") {
    return 4;
  }
  // By its source address this connection comes from another host.
  const FileDescriptor other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!connect_from(other.get(), "192.0.2.8", "192.0.2.7", listener.port())) {
    return 5;
  }
  const auto accepted_other = accept_soon(listener);
  if (!accepted_other || congestion_control(accepted_other->fd.get()) != usual) {
    return 6;
  }
  return has_no_delay(accepted_other->fd.get()) ? 0 : 7;
}

TEST(TcpOptions, BothEndsWithinThisMachineSendUnpaced) {
  Listener listener({.at = {.host = "127.0.0.1", .port = 0}, .insecure = true});
  const DialledSocket dialled = dial({.host = "127.0.0.1", .port = listener.port()}, soon_ns(), DialMode::tcp);
  const auto accepted = accept_soon(listener);
  ASSERT_TRUE(accepted.has_value());
  for (const int end : {dialled.fd.get(), accepted->fd.get()}) {
    EXPECT_EQ(congestion_control(end), "reno");
    EXPECT_TRUE(has_no_delay(end));
  }
}

TEST(TcpOptions, TheOwnAddressIsWithinThisMachineAndForOthersTheChoiceOfTheSystemStays) {
  const int status = in_own_network(test_over_a_network);
  if (status == no_network) {
    GTEST_SKIP() << "no network namespaces for this user";
  }
  if (status == only_reno) {
    GTEST_SKIP() << "this kernel has only reno, so that nothing can be seen";
  }
  EXPECT_EQ(status, 0) << "the number of the expectation in look_at_a_network()";
}

TEST(TcpOptions, AnywhereTheChoiceOfTheSystemStays) {
  const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const std::string usual = congestion_control(socket.get());
  set_tcp_options(socket.get(), TcpScope::anywhere);
  EXPECT_EQ(congestion_control(socket.get()), usual);
  EXPECT_TRUE(has_no_delay(socket.get()));
}

/// The type of service that the kernel puts into this socket's packets.
int type_of_service(int socket) {
  int family = 0;
  int value = -1;
  socklen_t size = sizeof family;
  ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &size);
  size = sizeof value;
  const bool is_ipv6 = family == AF_INET6;
  ::getsockopt(socket, is_ipv6 ? IPPROTO_IPV6 : IPPROTO_IP, is_ipv6 ? IPV6_TCLASS : IP_TOS, &value, &size);
  return value;
}

TEST(TypeOfService, IsThatOfBothEndsOfAConnection) {
  constexpr std::uint8_t wanted = 104;
  for (const char* host : {"127.0.0.1", "::1"}) {
    if (host == std::string_view("::1") && !test::has_ipv6()) {
      continue;
    }
    SCOPED_TRACE(host);
    Listener listener({.at = {.host = host, .port = 0}, .type_of_service = wanted});
    for (const bool says_so : {true, false}) {
      const DialledSocket dialled = dial({.host = host, .port = listener.port()}, soon_ns(), DialMode::tcp, {},
                                         says_so ? std::optional(wanted) : std::nullopt);
      const auto accepted = accept_soon(listener);
      ASSERT_TRUE(accepted);
      EXPECT_EQ(type_of_service(dialled.fd.get()), says_so ? wanted : 0);
      EXPECT_EQ(type_of_service(accepted->fd.get()), wanted);
    }
  }
}

/// A listener at all addresses accepts IPv4 connections on an IPv6 socket.
TEST(TypeOfService, IsThatOfIpv4OnASocketOfIpv6) {
  Listener listener({.at = {.host = "*", .port = 0}, .insecure = true, .type_of_service = 104});
  const DialledSocket dialled = dial({.host = "127.0.0.1", .port = listener.port()}, soon_ns(), DialMode::tcp);
  const auto accepted = accept_soon(listener);
  ASSERT_TRUE(accepted);
  int value = -1;
  socklen_t size = sizeof value;
  ASSERT_EQ(::getsockopt(accepted->fd.get(), IPPROTO_IP, IP_TOS, &value, &size), 0);
  EXPECT_EQ(value, 104);
}

TEST(TypeOfService, DoesNotMatterToASocketWithoutPackets) {
  Listener listener({.at = {.host = "127.0.0.1", .port = 0}, .type_of_service = 104});
  EXPECT_TRUE(dial({.host = "127.0.0.1", .port = listener.port()}, soon_ns(), DialMode::any, {}, 104).is_unix);
}

}  // namespace
}  // namespace framewire
