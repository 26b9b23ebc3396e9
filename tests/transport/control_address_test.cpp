#include "transport/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

#include "tests/transport/control_support.hpp"

namespace framewire {
namespace {

using test::error_of;
using test::expect_error;

struct AddressCase {
  const char* text;
  const char* host;
  int port;  // -1: refused
};

class ParseHostPort : public testing::TestWithParam<AddressCase> {};

TEST_P(ParseHostPort, ReadsWhatPeopleWrite) {
  const AddressCase& one = GetParam();
  if (one.port < 0) {
    expect_error(error_of([&] { parse_host_port(one.text, 5290); }), ExitStatus::usage, "is no address; it takes HOST");
    return;
  }
  const HostPort at = parse_host_port(one.text, 5290);
  EXPECT_EQ(at.host, one.host);
  EXPECT_EQ(at.port, one.port);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ParseHostPort,
    testing::Values(AddressCase{"host", "host", 5290}, AddressCase{"host:1", "host", 1},
                    AddressCase{"host:65535", "host", 65535}, AddressCase{"host:0", "host", 0},
                    AddressCase{"192.0.2.1", "192.0.2.1", 5290}, AddressCase{"192.0.2.1:80", "192.0.2.1", 80},
                    AddressCase{"[::1]:7", "::1", 7}, AddressCase{"[::1]", "::1", 5290},
                    AddressCase{"::1", "::1", 5290}, AddressCase{"fe80::1%eth0", "fe80::1%eth0", 5290},
                    AddressCase{"[fe80::1%eth0]:9", "fe80::1%eth0", 9}, AddressCase{":5291", "", 5291},
                    AddressCase{"*:5291", "*", 5291}, AddressCase{"*", "*", 5290}, AddressCase{"", "", -1},
                    AddressCase{":", "", -1}, AddressCase{"host:", "", -1}, AddressCase{"host:65536", "", -1},
                    AddressCase{"host:-1", "", -1}, AddressCase{"host:+1", "", -1}, AddressCase{"host:1x", "", -1},
                    AddressCase{"host: 1", "", -1}, AddressCase{"[::1", "", -1}, AddressCase{"[]", "", -1},
                    AddressCase{"[]:1", "", -1}, AddressCase{"[::1]x", "", -1}, AddressCase{"[::1]:", "", -1},
                    AddressCase{"a b:1", "", -1}, AddressCase{"a\n:1", "", -1}, AddressCase{"a/b:1", "", -1},
                    AddressCase{"a]:1", "", -1}));

TEST(Address, APortAloneNeedsItsColon) {
  expect_error(error_of([] { parse_host_port("23541", 1); }), ExitStatus::usage, "written as :23541, or HOST:23541");
}

TEST(Address, RefusesNamesLongerThanAnyHostHas) {
  expect_error(error_of([] { parse_host_port(std::string(254, 'a'), 1); }), ExitStatus::usage, "is no address");
}

TEST(Address, FormatsWithBracketsOnlyWhereNeeded) {
  EXPECT_EQ(format_host_port({.host = "host", .port = 1}), "host:1");
  EXPECT_EQ(format_host_port({.host = "::1", .port = 1}), "[::1]:1");
}

SocketAddress only(const std::string& host, std::uint16_t port = 5290) {
  const auto addresses = resolve({.host = host, .port = port});
  EXPECT_EQ(addresses.size(), 1U);
  return addresses.front();
}

TEST(Address, ResolvesNumbers) {
  EXPECT_EQ(format_address(only("192.0.2.1", 77)), "192.0.2.1:77");
  EXPECT_EQ(format_address(only("2001:db8::1", 77)), "[2001:db8::1]:77");
  EXPECT_EQ(format_address(only("::ffff:192.0.2.1", 77)), "192.0.2.1:77");
  EXPECT_EQ(port_of(only("2001:db8::1", 77)), 77);
}

TEST(Address, ChangesThePort) {
  for (const char* host : {"127.0.0.1", "::1"}) {
    SocketAddress address = only(host, 1);
    set_port(address, 60000);
    EXPECT_EQ(port_of(address), 60000);
  }
}

TEST(Address, NamesTheHostThatIsNotKnown) {
  // No name server is asked: a label has at most 63 letters.
  const std::string host(70, 'x');
  expect_error(error_of([&] { resolve({.host = host, .port = 1}); }), ExitStatus::failed, "xxx' is not known");
}

TEST(Address, KnowsLoopback) {
  EXPECT_TRUE(is_loopback(only("127.0.0.1")));
  EXPECT_TRUE(is_loopback(only("127.9.9.9")));
  EXPECT_TRUE(is_loopback(only("::1")));
  EXPECT_TRUE(is_loopback(only("::ffff:127.0.0.1")));
  EXPECT_FALSE(is_loopback(only("128.0.0.1")));
  EXPECT_FALSE(is_loopback(only("0.0.0.0")));
  EXPECT_FALSE(is_loopback(only("::")));
  EXPECT_FALSE(is_loopback(only("::2")));
  EXPECT_FALSE(is_loopback(SocketAddress{}));
}

TEST(Address, KnowsThisHost) {
  EXPECT_TRUE(is_this_host(only("127.0.0.1")));
  EXPECT_TRUE(is_this_host(only("::1")));
  // Reserved for documentation (RFC 5737, RFC 3849): no host has them.
  EXPECT_FALSE(is_this_host(only("192.0.2.1")));
  EXPECT_FALSE(is_this_host(only("2001:db8::1")));
}

TEST(Address, UnixSocketIsAbstractAndNamesUserAndPort) {
  const SocketAddress address = unix_address(5290);
  const std::string name(reinterpret_cast<const char*>(&address.storage), address.size_bytes);
  EXPECT_EQ(name.substr(sizeof(sa_family_t)),
            std::string(1, '\0') + "framewire-" + std::to_string(::geteuid()) + "-5290");
  EXPECT_EQ(format_address(address), "this machine");
}

}  // namespace
}  // namespace framewire
