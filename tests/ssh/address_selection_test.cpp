// The order of the addresses by which one host reaches another.
#include "ssh/address_selection.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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
