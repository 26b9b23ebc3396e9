#include "transport/control/listener.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/wait.hpp"
#include "tests/base/free_port.hpp"
#include "tests/base/held_port.hpp"
#include "tests/base/silent_peers.hpp"
#include "tests/transport/control_sockets.hpp"
#include "tests/transport/control_support.hpp"
#include "transport/control/dial.hpp"

namespace framewire {
namespace {

using test::accept_soon;
using test::error_of;
using test::expect_error;
using test::has_no_delay;
using test::in_own_network;
using test::no_network;
using test::soon_ns;

ListenOptions on(const std::string& host, std::uint16_t port = 0) {
  return {.at = {.host = host, .port = port}};
}

bool is_non_blocking_and_private(int fd) {
  return (::fcntl(fd, F_GETFL) & O_NONBLOCK) != 0 && (::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

TEST(Listener, ByDefaultThisMachineAloneReachesItByThreeWays) {
  Listener listener(on(""));
  EXPECT_NE(listener.port(), 0);
  EXPECT_FALSE(listener.is_beyond_loopback());
  EXPECT_NE(listener.describe().find("127.0.0.1:" + std::to_string(listener.port())), std::string::npos);
  EXPECT_GE(listener.descriptors().size(), 2U);
  EXPECT_FALSE(listener.accept().has_value());
  EXPECT_EQ(listener.accept_fault(), 0);

  const DialledSocket by_unix = dial({.host = "localhost", .port = listener.port()}, soon_ns());
  EXPECT_TRUE(by_unix.is_unix);
  EXPECT_TRUE(is_non_blocking_and_private(by_unix.fd.get()));
  const auto unix_end = accept_soon(listener);
  ASSERT_TRUE(unix_end.has_value());
  EXPECT_TRUE(unix_end->is_unix);
  EXPECT_EQ(unix_end->address, "this machine");
  EXPECT_TRUE(check_same_user(unix_end->fd.get()));
  EXPECT_TRUE(check_same_user(by_unix.fd.get()));

  const DialledSocket by_tcp = dial({.host = "127.0.0.1", .port = listener.port()}, soon_ns(), DialMode::tcp);
  EXPECT_FALSE(by_tcp.is_unix);
  const auto tcp_end = accept_soon(listener);
  ASSERT_TRUE(tcp_end.has_value());
  EXPECT_FALSE(tcp_end->is_unix);
  EXPECT_EQ(tcp_end->address.substr(0, 10), "127.0.0.1:");
  EXPECT_FALSE(check_same_user(tcp_end->fd.get())) << "TCP says nothing about users";
  for (const int fd : {by_tcp.fd.get(), tcp_end->fd.get()}) {
    EXPECT_TRUE(is_non_blocking_and_private(fd));
    EXPECT_TRUE(has_no_delay(fd));
  }
}

TEST(Listener, ServesIpv6Loopback) {
  Listener listener(on(""));
  if (listener.describe().find("[::1]") == std::string::npos) {
    GTEST_SKIP() << "no IPv6 here";
  }
  dial({.host = "::1", .port = listener.port()}, soon_ns(), DialMode::tcp);
  const auto accepted = accept_soon(listener);
  ASSERT_TRUE(accepted.has_value());
  EXPECT_EQ(accepted->address.substr(0, 6), "[::1]:");
}

TEST(Listener, WhatBelongsToAConnectionGoesWhereItWent) {
  Listener listener(on(""));
  const HostPort asked{.host = "localhost", .port = listener.port()};
  const DialledSocket by_tcp = dial(asked, soon_ns(), DialMode::tcp);
  const HostPort there = reached(by_tcp, asked);
  EXPECT_TRUE(there.host == "127.0.0.1" || there.host == "::1") << there.host;
  EXPECT_EQ(there.port, asked.port);
  const DialledSocket by_unix = dial(asked, soon_ns());
  ASSERT_TRUE(by_unix.is_unix);
  EXPECT_EQ(reached(by_unix, asked).host, "localhost");
}

TEST(Listener, NamesThePortThatIsInUse) {
  Listener first(on(""));
  const std::string words = "port " + std::to_string(first.port()) + " is in use";
  expect_error(error_of([&] { Listener(on("", first.port())); }), ExitStatus::failed, words);
  expect_error(error_of([&] { Listener(on("127.0.0.1", first.port())); }), ExitStatus::failed,
               "take another port with --listen");
}

TEST(Listener, TakesAPortOfARange) {
  const Listener first(on("127.0.0.1"));
  ListenOptions range = on("127.0.0.1", first.port());
  range.last_port = first.port();
  const std::string words = "port " + std::to_string(first.port()) + " is in use; name more ports";
  expect_error(error_of([&] { const Listener taken(range); }), ExitStatus::failed, words);
  range.last_port = static_cast<std::uint16_t>(std::min(65535, first.port() + 20));
  const Listener second(range);
  EXPECT_GT(second.port(), first.port());
  EXPECT_LE(second.port(), range.last_port);
  if (second.port() == first.port() + 1) {
    range.last_port = second.port();
    expect_error(error_of([&] { const Listener taken(range); }), ExitStatus::failed, "none of the ports");
  }
}

TEST(Listener, NamesThePortThatAnotherProgramHasByTcp) {
  const FileDescriptor other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const std::uint16_t port = ntohs(test::bind_to_free_port(other).sin_port);
  ASSERT_EQ(::listen(other.get(), 1), 0);
  expect_error(error_of([&] { Listener(on("", port)); }), ExitStatus::failed, "is in use (TCP 127.0.0.1:");
  // The failed attempt has closed its Unix socket, too: dialling finds the other program by TCP.
  EXPECT_FALSE(dial({.host = "127.0.0.1", .port = port}, soon_ns()).is_unix);
}

TEST(Listener, GetsItsPortBackAtOnce) {
  const test::HeldPort held;
  for (int round = 0; round < 3; ++round) {
    Listener listener(on("127.0.0.1", held.port()));
    const DialledSocket dialled = dial({.host = "127.0.0.1", .port = held.port()}, soon_ns(), DialMode::tcp);
    accept_soon(listener);
  }
}

TEST(Listener, BeyondLoopbackNeedsAKeyOrInsecure) {
  for (const char* host : {"*", "0.0.0.0", "::", "192.0.2.1"}) {
    const auto error = error_of([&] { Listener(on(host)); });
    expect_error(error, ExitStatus::refused, "run 'framewire key'");
    expect_error(error, ExitStatus::refused, "--insecure");
  }
  EXPECT_FALSE(error_of([] { Listener(on("127.0.0.1")); }));
}

TEST(Listener, RefusesAnAddressOfAnotherMachine) {
  const std::uint16_t just_free = Listener(on("")).port();
  for (const std::uint16_t port : {std::uint16_t{0}, just_free}) {
    ListenOptions options = on("192.0.2.1", port);
    options.has_key = true;
    expect_error(error_of([&] { Listener listener(options); }), ExitStatus::failed, "is no address of this machine");
  }
}

TEST(Listener, WithAKeyItListensOnAllAddresses) {
  const int status = in_own_network([] {
    ListenOptions with_key = on("");
    with_key.has_key = true;
    ListenOptions insecure = on("*");
    insecure.insecure = true;
    for (const ListenOptions& options : {with_key, insecure}) {
      const Listener listener(options);
      if (!listener.is_beyond_loopback() || listener.descriptors().size() != 2) {
        return 1;
      }
    }
    return 0;
  });
  if (status == no_network) {
    GTEST_SKIP() << "no network namespaces for this user";
  }
  EXPECT_EQ(status, 0);
}

TEST(Listener, AnotherNetworkDoesNotSeeTheUnixSocket) {
  Listener listener(on("127.0.0.1"));
  const int status = in_own_network([&] {
    const auto error =
        error_of([&] { dial({.host = "127.0.0.1", .port = listener.port()}, monotonic_ns() + ns_per_s); });
    return error && error->status() == ExitStatus::lost_peer ? 0 : 1;
  });
  if (status == no_network) {
    GTEST_SKIP() << "no network namespaces for this user";
  }
  EXPECT_EQ(status, 0);
}

TEST(Listener, HangsUpOnOtherUsersAtTheUnixSocket) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can become another user";
  }
  Listener listener(on("127.0.0.1"));
  const SocketAddress address = unix_address(listener.port());
  const pid_t child = ::fork();
  if (child == 0) {
    const FileDescriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    char byte = 0;
    const bool is_cut = ::setuid(65534) == 0 && ::connect(fd.get(), address.get(), address.size_bytes) == 0 &&
                        !check_same_user(fd.get()) && ::read(fd.get(), &byte, 1) <= 0;
    ::_exit(is_cut ? 0 : 1);
  }
  EXPECT_FALSE(accept_soon(listener).has_value());
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Dial, RefusesAUnixSocketOfAnotherUser) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can become another user";
  }
  int fds[2] = {-1, -1};
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  const FileDescriptor ready(fds[0]);
  FileDescriptor done(fds[1]);
  constexpr std::uint16_t port = 2;  // no other test's, and without a TCP listener
  const SocketAddress address = unix_address(port);
  int stop[2] = {-1, -1};
  ASSERT_EQ(::pipe2(stop, O_CLOEXEC), 0);
  const pid_t squatter = ::fork();
  if (squatter == 0) {
    ::close(stop[1]);
    const FileDescriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const bool listens =
        ::setuid(65534) == 0 && ::bind(fd.get(), address.get(), address.size_bytes) == 0 && ::listen(fd.get(), 1) == 0;
    const char answer = listens ? 'y' : 'n';
    char byte = 0;
    const bool said = ::write(fds[1], &answer, 1) == 1 && ::read(stop[0], &byte, 1) == 0;
    ::_exit(said ? 0 : 1);
  }
  ::close(stop[0]);
  char answer = 0;
  ASSERT_EQ(::read(ready.get(), &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  expect_error(error_of([&] { dial({.host = "127.0.0.1", .port = port}, soon_ns()); }), ExitStatus::refused,
               "of another user");
  ::close(stop[1]);
  int status = 0;
  ::waitpid(squatter, &status, 0);
}

TEST(Listener, SaysWhenNoDescriptorsAreLeft) {
  Listener listener(on("127.0.0.1"));
  const DialledSocket dialled = dial({.host = "127.0.0.1", .port = listener.port()}, soon_ns(), DialMode::tcp);
  auto descriptors = listener.descriptors();
  ASSERT_GT(wait_until(descriptors, soon_ns()), 0);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_FALSE(listener.accept().has_value());
  EXPECT_EQ(listener.accept_fault(), EMFILE);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(listener.accept().has_value()) << "the connection was still waiting";
  EXPECT_EQ(listener.accept_fault(), 0);
}

/// An address is passed over only if this machine does not have its family.
TEST(Listener, WithoutDescriptorsForAllItsAddressesThereIsNone) {
  const std::size_t sockets = Listener(on("")).descriptors().size();
  ASSERT_GE(sockets, 2U);
  const int lowest = ::dup(0);
  ASSERT_GE(lowest, 0);
  ::close(lowest);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  std::size_t refused = 0;
  for (rlim_t left = 0; left < 8; ++left) {
    rlimit few = before;
    few.rlim_cur = static_cast<rlim_t>(lowest) + left;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    std::size_t listening = 0;
    const auto error = error_of([&] { listening = Listener(on("")).descriptors().size(); });
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    refused += error ? 1U : 0U;
    EXPECT_EQ(listening, error ? 0 : sockets) << left << " descriptors are left";
  }
  EXPECT_GT(refused, 0U);
  EXPECT_LT(refused, 8U);
}

TEST(Dial, SaysThatNothingListens) {
  const test::HeldPort held;
  const HostPort at{.host = "127.0.0.1", .port = held.port()};
  expect_error(error_of([&] { dial(at, soon_ns()); }), ExitStatus::lost_peer,
               "nothing listens at " + format_host_port(at));
}

TEST(Dial, GivesUpAtItsDeadline) {
  const test::FullPort full;
  const auto error =
      error_of([&] { dial({.host = "127.0.0.1", .port = full.port()}, monotonic_ns() + 200 * ns_per_ms); });
  expect_error(error, ExitStatus::lost_peer, "does not answer; check the address, and that no firewall");
}

TEST(Dial, NamesAHostThatIsNotKnown) {
  expect_error(error_of([] { dial({.host = std::string(70, 'x'), .port = 1}, soon_ns()); }), ExitStatus::failed,
               "is not known");
}

}  // namespace
}  // namespace framewire
