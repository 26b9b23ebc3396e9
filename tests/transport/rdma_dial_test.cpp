// What an RDMA listener announces, which of the announced addresses are dialled and for how long, and completion
// vectors.
#include "transport/rdma/dial.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "transport/rdma/options.hpp"

namespace framewire {
namespace {

std::vector<std::string> to_dial(const std::vector<std::string>& reached, const std::vector<std::string>& announced) {
  std::vector<SocketAddress> addresses;
  for (const std::string& one : reached) {
    addresses.push_back(rdma_address_from_text(one, 5290).value());
  }
  std::vector<std::string> texts;
  for (const SocketAddress& one : rdma_addresses_to_dial(addresses, announced, 5290)) {
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
  Texts announced;
  for (int i = 1; i < 200; ++i) {
    announced.push_back("10.9.0." + std::to_string(i));
  }
  EXPECT_EQ(to_dial({"192.0.2.1"}, announced).size(), 1 + max_announced_addresses_tried);
}

/// How long each of `count` addresses is tried if none answers.
std::vector<std::int64_t> times_of(std::size_t count) {
  std::vector<std::int64_t> times;
  std::int64_t remaining_ns = rdma_connection_timeout_ns;
  for (std::size_t left = count; left > 0; --left) {
    times.push_back(rdma_address_time_ns(remaining_ns, left));
    remaining_ns -= times.back();
  }
  EXPECT_EQ(remaining_ns, 0);
  return times;
}

TEST(RdmaAddressTime, GivesTheFirstAddressTheKernelsRetryAndTheOthersWhatRemains) {
  constexpr std::int64_t kernel_repeats_after_ns = 4'300'000'000;
  for (std::size_t count = 1; count <= 1 + max_announced_addresses_tried; ++count) {
    const std::vector<std::int64_t> times = times_of(count);
    EXPECT_GT(times.front(), kernel_repeats_after_ns) << count << " addresses";
    for (const std::int64_t time_ns : times) {
      EXPECT_GE(time_ns, min_rdma_address_ns) << count << " addresses";
    }
  }
}

/// This machine may have many addresses, on which nothing is lost.
TEST(RdmaAddressTime, IsSharedEquallyByManyAddresses) {
  EXPECT_EQ(times_of(24), std::vector<std::int64_t>(24, rdma_connection_timeout_ns / 24));
}

/// Without a route to the first address its attempt ends at once.
TEST(RdmaAddressTime, PassesOnToTheNextAddressWhatTheFirstDidNotUse) {
  EXPECT_EQ(rdma_address_time_ns(rdma_connection_timeout_ns, 2), rdma_retry_ns);
  EXPECT_EQ(rdma_address_time_ns(1000, 1), 1000);
}

/// An interrupt of each vector is served by one CPU: processes that start together must not share the first ones.
TEST(CompletionVectors, OfProcessesStartAtDifferentOnesAndGoRound) {
  constexpr std::uint32_t vectors = 8;
  std::set<std::uint32_t> first;
  for (int process = 0; process < 1000; ++process) {
    CompletionVectors of_process = CompletionVectors::from_random();
    const std::uint32_t start = of_process.next();
    first.insert(start % vectors);
    EXPECT_EQ(of_process.next(), start + 1);
  }
  EXPECT_EQ(first.size(), vectors);
}

TEST(RdmaListenerAddress, IsReadAsItWasWritten) {
  const RdmaListenerAddress listener{.port = 5290, .addresses = {"192.0.2.1", "2001:db8::1"}};
  const RdmaListenerAddress back = rdma_listener_from(describe(listener));
  EXPECT_EQ(back.port, listener.port);
  EXPECT_EQ(back.addresses, listener.addresses);
  EXPECT_TRUE(rdma_listener_from(describe(RdmaListenerAddress{.port = 1})).addresses.empty()) << "as an older peer";
}

TEST(RdmaListenerAddress, AnnouncesFewAddressesAndOnlyThoseOfOtherMachines) {
  RdmaListenerAddress listener{.port = 5290, .addresses = {"127.0.0.1", "fe80::1"}};
  EXPECT_TRUE(rdma_listener_from(describe(listener)).addresses.empty());
  for (int i = 1; i < 100; ++i) {
    listener.addresses.push_back("10.9.0." + std::to_string(i));
  }
  EXPECT_EQ(rdma_listener_from(describe(listener)).addresses.size(), max_rdma_addresses);
}

TEST(RdmaListenerAddress, IsRefusedInOtherWords) {
  const std::string long_text(46, '1');
  for (const std::string& wrong :
       {std::string(), std::string("{"), std::string("[]"), std::string("{}"), std::string(R"({"port":0})"),
        std::string(R"({"port":65536})"), std::string(R"({"port":"1"})"), std::string(R"({"port":1,"addresses":5})"),
        std::string(R"({"port":1,"addresses":[1]})"), R"({"port":1,"addresses":[")" + long_text + R"("]})",
        std::string(R"({"port":1,"addresses":["","","","","","","","","","","","","","","","",""]})")}) {
    EXPECT_THROW(rdma_listener_from(wrong), Error) << wrong;
  }
}

}  // namespace
}  // namespace framewire
