#include "base/machine_identity.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <regex>
#include <thread>

namespace framewire {
namespace {

TEST(MachineIdentity, IsOfThisBootAndNetwork) {
  const std::string boot = boot_id();
  EXPECT_TRUE(std::regex_match(boot, std::regex("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"))) << boot;
  const std::string network = network_id();
  EXPECT_TRUE(std::regex_match(network, std::regex(boot + ":[0-9]+:[0-9]+"))) << network;
  EXPECT_EQ(network_id(), network);
}

TEST(MachineIdentity, AnotherNetworkNamespaceHasAnother) {
  const std::string here = network_id();
  std::string there;
  std::thread([&] {
    if (::unshare(CLONE_NEWNET) == 0) {
      there = network_id();
    }
  }).join();
  if (there.empty()) {
    GTEST_SKIP() << "a network namespace needs root";
  }
  EXPECT_NE(there, here);
}

}  // namespace
}  // namespace framewire
