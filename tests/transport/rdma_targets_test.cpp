// Which of the RDMA addresses that a peer reports are dialled.
#include "transport/session/rdma_targets.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.hpp"

namespace framewire {
namespace {

std::vector<std::string> to_dial(const std::vector<std::string>& reached, const std::vector<std::string>& told) {
  std::vector<SocketAddress> addresses;
  for (const std::string& one : reached) {
    addresses.push_back(rdma_address_from_text(one, 5290).value());
  }
  std::vector<std::string> texts;
  for (const SocketAddress& one : rdma_addresses_to_dial(addresses, told, 5290)) {
    texts.push_back(format_address(one));
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(RdmaTargets, BeginWithWhatWasReached) {
  EXPECT_EQ(to_dial({"192.0.2.1"}, {}), Texts{"192.0.2.1:5290"});
  EXPECT_EQ(to_dial({"192.0.2.1"}, {"10.9.0.1", "2001:db8::9"}),
            (Texts{"192.0.2.1:5290", "10.9.0.1:5290", "[2001:db8::9]:5290"}));
}

TEST(RdmaTargets, AreDialledOnceEach) {
  EXPECT_EQ(to_dial({"192.0.2.1"}, {"192.0.2.1", "10.9.0.1", "10.9.0.1", "2001:db8::1", "2001:DB8:0::1"}),
            (Texts{"192.0.2.1:5290", "10.9.0.1:5290", "[2001:db8::1]:5290"}));
}

/// Otherwise a peer could make this machine dial itself, or a broadcast or multicast address.
TEST(RdmaTargets, AreAddressesOfOtherMachines) {
  for (const char* wrong :
       {"127.0.0.1",       "127.9.9.9", "0.0.0.0", "0.1.2.3", "224.0.0.1", "255.255.255.255", "240.0.0.1",
        "169.254.1.1",     "::",        "::1",     "ff02::1", "fe80::1",   "fe80::1%eth0",    "::ffff:127.0.0.1",
        "::ffff:10.9.0.1", "localhost", "box",     "",        "10.9",      "10.9.0.1:5290",   "[2001:db8::1]",
        " 10.9.0.1"}) {
    EXPECT_FALSE(rdma_address_from_text(wrong, 5290)) << wrong;
    EXPECT_EQ(to_dial({"192.0.2.1"}, {wrong}), Texts{"192.0.2.1:5290"}) << wrong;
  }
  EXPECT_FALSE(rdma_address_from_text(std::string_view("10.9.0.1\0x", 10), 5290));
}

TEST(RdmaTargets, AreRefusedWithAnErrorWhereTheUserNamesAnUnreachableOne) {
  EXPECT_EQ(format_address(named_rdma_address("10.9.0.1", 5290)), "10.9.0.1:5290");
  try {
    named_rdma_address("127.0.0.1", 5290);
    FAIL() << "was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::usage);
    EXPECT_NE(std::string(error.what()).find("127.0.0.1"), std::string::npos);
  }
}

TEST(RdmaTargets, AreFewHoweverManyAPeerTellsOf) {
  Texts told;
  for (int i = 1; i < 200; ++i) {
    told.push_back("10.9.0." + std::to_string(i));
  }
  EXPECT_EQ(to_dial({"192.0.2.1"}, told).size(), 1 + max_told_addresses_tried);
}

}  // namespace
}  // namespace framewire
