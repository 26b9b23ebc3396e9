// The order of the addresses by which one host reaches another.
#include "ssh/address_selection.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "ssh/networks.hpp"

namespace framewire {
namespace {

using Texts = std::vector<std::string>;

TEST(Addresses, TheBestComesFirst) {
  const HostAddresses listener{
      .machine = "m1", .reached_at = "10.0.0.2", .addresses = {"10.0.0.2", "192.168.7.2", "2001:db8::2"}};
  const HostAddresses dialler{.machine = "m2", .reached_at = "10.0.0.3"};
  EXPECT_EQ(addresses_of(listener, dialler, {.name = "big"}), (Texts{"10.0.0.2", "big", "192.168.7.2", "2001:db8::2"}));
  EXPECT_EQ(addresses_of(listener, dialler, {.name = "big", .is_known_here = true}),
            (Texts{"big", "10.0.0.2", "192.168.7.2", "2001:db8::2"}));
  EXPECT_EQ(addresses_of(listener, dialler, {.name = "big", .is_known_here = true, .data_address = "1.2.3.4"}),
            (Texts{"1.2.3.4"}));
  EXPECT_EQ(addresses_of(listener, listener, {.name = "big"}).front(), "127.0.0.1");
  HostAddresses tunnelled = listener;
  tunnelled.reached_at = "127.0.0.1";
  EXPECT_EQ(addresses_of(tunnelled, dialler, {.name = "localhost", .is_known_here = true}),
            (Texts{"10.0.0.2", "192.168.7.2", "2001:db8::2"}))
      << "loopback leads to another machine";
}

/// ssh uses a management network. Both hosts also share a network with RDMA.
TEST(Addresses, ANetworkThatBothHaveByRdmaComesBeforeThatOfSsh) {
  const HostAddresses listener{.machine = "m1",
                               .reached_at = "10.0.0.2",
                               .addresses = {"10.0.0.2", "192.168.77.2"},
                               .rdma_networks = {"192.168.77.2/24"}};
  HostAddresses dialler{.machine = "m2", .reached_at = "10.0.0.3", .rdma_networks = {"192.168.77.1/24"}};
  EXPECT_EQ(addresses_of(listener, dialler, {.name = "big"}), (Texts{"192.168.77.2", "10.0.0.2", "big"}));
  EXPECT_EQ(addresses_of(listener, dialler, {.name = "big", .is_known_here = true}).front(), "192.168.77.2");
  EXPECT_EQ(addresses_of(listener, dialler, {.name = "big", .may_be_rdma = false}).front(), "10.0.0.2");
  EXPECT_EQ(addresses_of(listener, dialler, {.name = "big", .data_address = "10.0.0.2"}), Texts{"10.0.0.2"});
  dialler.rdma_networks = {"192.168.78.1/24"};
  EXPECT_EQ(addresses_of(listener, dialler, {.name = "big"}).front(), "10.0.0.2") << "no way is known to lead there";
}

TEST(Addresses, WhatTheDiallerHasItselfLeadsNowhere) {
  const HostAddresses listener{.machine = "m1",
                               .reached_at = "10.0.0.2",
                               .addresses = {"10.0.0.2", "172.17.0.1", "192.168.77.2"},
                               .rdma_networks = {"172.17.0.1/16", "192.168.77.2/24"}};
  const HostAddresses dialler{.machine = "m2",
                              .reached_at = "10.0.0.3",
                              .addresses = {"10.0.0.3", "172.17.0.1", "192.168.77.1"},
                              .rdma_networks = {"172.17.0.1/16", "192.168.77.1/24"}};
  EXPECT_EQ(addresses_of(listener, dialler, {.name = "big"}), (Texts{"192.168.77.2", "10.0.0.2", "big"}));
}

nlohmann::json some_report() {
  return {{"machine", "m1"},
          {"reached_at", "192.0.2.1"},
          {"addresses", {"192.0.2.1", "2001:db8::1", "fe80::1%eth0", "::ffff:192.0.2.1"}},
          {"rdma_networks", {"10.0.0.1/8", "2001:db8::1/64"}}};
}

TEST(Addresses, ComeBackAsTheyWereReported) {
  const nlohmann::json report = some_report();
  EXPECT_EQ(to_json(host_addresses_from(report)), report);
  const HostAddresses unknown = host_addresses_from({{"machine", ""}, {"reached_at", ""}});
  EXPECT_TRUE(unknown.addresses.empty() && unknown.rdma_networks.empty());
  HostAddresses many{.addresses = Texts(100, "192.0.2.2"), .rdma_networks = Texts(100, "10.0.0.1/8")};
  many = host_addresses_from(to_json(many));
  EXPECT_EQ(many.addresses.size(), 64U);
  EXPECT_EQ(many.rdma_networks.size(), 64U);
}

std::string why_refused(const char* field, const nlohmann::json& value) {
  nlohmann::json report = some_report();
  report[field] = value;
  try {
    host_addresses_from(report);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::failed);
    return error.what();
  }
  return {};
}

/// These strings come from another host.
TEST(Addresses, WhatIsNoAddressIsRefused) {
  for (const std::string& text :
       Texts{"box", "192.0.2", "127.1", "0x7f000001", "::1%", "::1%a b", "::1%a\x1b[2J", "::1%a/b",
             "::1%longer-than-an-interface", std::string("192.0.2.1\0x", 11), "192.0.2.1 ", "10.0.0.1/8",
             "192.0.2.1%eth0", "[::1]", "UNKNOWN", std::string(1000, '1')}) {
    EXPECT_NE(why_refused("reached_at", text), "") << text;
    EXPECT_NE(why_refused("addresses", {"192.0.2.1", text}), "") << text;
    EXPECT_NE(why_refused("rdma_networks", {text + "/0"}), "") << text;
  }
  EXPECT_NE(why_refused("addresses", {""}), "");
  for (const std::string& text :
       Texts{"box/8", std::string("10.0.0.1\0x/8", 12), "10.0.0.1", "10.0.0.1/0", "10.0.0.1/33", "2001:db8::1/129",
             "10.0.0.1/8x", "10.0.0.1/", "fe80::1%eth0/64"}) {
    EXPECT_NE(why_refused("rdma_networks", {text}), "") << text;
  }
  EXPECT_EQ(
      why_refused("addresses", {"b\x1b[2J"}),
      "the other host reports the address 'b\\x1b[2J', which is no IP address; install the same framewire on both "
      "hosts");
}

TEST(Addresses, OtherTypesAndLongListsAreRefused) {
  EXPECT_NE(why_refused("machine", std::string(201, 'm')), "");
  EXPECT_NE(why_refused("machine", "a\nb"), "");
  EXPECT_NE(why_refused("reached_at", nullptr), "");
  for (const char* field : {"addresses", "rdma_networks"}) {
    EXPECT_NE(why_refused(field, "192.0.2.1"), "");
    EXPECT_NE(why_refused(field, {"10.0.0.1/8", 7}), "");
    EXPECT_NE(why_refused(field, nlohmann::json::object({{"a", "192.0.2.1"}})), "");
  }
  EXPECT_EQ(why_refused("addresses", Texts(65, "192.0.2.2")),
            "the other host reports 65 of its 'addresses', more than 64; install the same framewire on both hosts");
}

TEST(Addresses, ThoseOfThisMachineLeadToNoOther) {
  for (const char* loopback : {"127.0.0.1", "127.8.9.10", "127.1", "0.0.0.0", "::1", "::", "0:0::1", "::ffff:127.0.0.1",
                               "::ffff:0.0.0.0", "::1%lo", "localhost"}) {
    const HostAddresses listener{.machine = "m1", .reached_at = loopback, .addresses = {loopback, "192.0.2.1"}};
    EXPECT_EQ(addresses_of(listener, {.machine = "m2"}, {.name = loopback}), Texts{"192.0.2.1"}) << loopback;
  }
  const HostAddresses other{.machine = "m1", .reached_at = "128.0.0.1", .addresses = {"::ffff:192.0.2.1", "::2"}};
  EXPECT_EQ(addresses_of(other, {.machine = "m2"}, {}), (Texts{"128.0.0.1", "::ffff:192.0.2.1", "::2"}));
}

TEST(RdmaNetworks, SharedAreThoseOfOneNetwork) {
  EXPECT_EQ(shared_addresses({"10.1.2.3/16", "10.2.0.1/16"}, {"10.1.9.9/16"}), Texts{"10.1.2.3"});
  EXPECT_EQ(shared_addresses({"10.1.2.3/23"}, {"10.1.3.4/23"}), Texts{"10.1.2.3"});
  EXPECT_EQ(shared_addresses({"10.1.2.3/24"}, {"10.1.3.4/24"}), Texts{});
  EXPECT_EQ(shared_addresses({"2001:db8::2/64", "10.0.0.1/8"}, {"2001:db8::1/64"}), Texts{"2001:db8::2"});
  EXPECT_EQ(shared_addresses({"2001:db8:0:1::2/64"}, {"2001:db8::1/64"}), Texts{});
  EXPECT_EQ(shared_addresses({"10.0.0.1/24"}, {"10.0.0.1/24"}), Texts{}) << "that is the dialler itself";
}

/// These strings come from another host.
TEST(RdmaNetworks, WhatIsNoNetworkCountsForNothing) {
  const Texts good{"10.0.0.1/8"};
  for (const char* bad : {"", "/", "10.0.0.2", "10.0.0.2/", "10.0.0.2/33", "10.0.0.2/0", "10.0.0.2/8x", "10.0.0.2/-8",
                          "x/8", "::2/129", "10.0.0.2/99999999999999999999"}) {
    EXPECT_EQ(shared_addresses({bad}, good), Texts{}) << bad;
    EXPECT_EQ(shared_addresses(good, {bad}), Texts{}) << bad;
  }
}

}  // namespace
}  // namespace framewire
