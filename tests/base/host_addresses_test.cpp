// The addresses of this machine, and RDMA devices by made-up files of sysfs. tests/ssh/networks_test.cpp has more of
// which addresses a device has.
#include "base/host_addresses.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "tests/base/fake_tree.hpp"

namespace framewire {
namespace {

TEST(OwnAddresses, AreNeitherLoopbackNorOfALink) {
  for (const OwnAddress& one : own_addresses()) {
    EXPECT_FALSE(one.text.starts_with("127.") || one.text == "::1" || one.text.starts_with("fe80")) << one.text;
    EXPECT_GT(one.prefix_bits, 0U);
    EXPECT_FALSE(one.interface.empty());
  }
}

constexpr const char* devices = "/sys/class/infiniband/";

std::vector<std::string> names_in(const test::FakeTree& tree) {
  const auto active = active_rdma_devices(tree.files());
  std::vector<std::string> names;
  std::ranges::transform(active, std::back_inserter(names), &ActiveRdmaDevice::name);
  return names;
}

TEST(ActiveRdmaDevices, AreThoseWithAnActivePort) {
  const test::FakeTree tree;
  EXPECT_TRUE(names_in(tree).empty());
  tree.write(std::string(devices) + "mlx5_1/ports/1/state", "4: ACTIVE\n");
  tree.write(std::string(devices) + "mlx5_2/ports/1/state", "1: DOWN\n");
  tree.write(std::string(devices) + "mlx4_0/ports/1/state", "1: DOWN\n");
  tree.write(std::string(devices) + "mlx4_0/ports/2/state", "4: ACTIVE\n");
  EXPECT_EQ(names_in(tree), (std::vector<std::string>{"mlx4_0", "mlx5_1"}));
}

TEST(ActiveRdmaDevices, AreNotThoseWhoseFilesLackOrAreNonsense) {
  const test::FakeTree tree;
  tree.write(std::string(devices) + "mlx5_0/ports/1/lid", "0x1\n");
  tree.write(std::string(devices) + "mlx5_1/ports", "no folder\n");
  tree.write(std::string(devices) + "mlx5_2/ports/1/state", std::string(5, '\0'));
  tree.write(std::string(devices) + "mlx5_3", "no folder\n");
  EXPECT_TRUE(names_in(tree).empty());
}

TEST(ActiveRdmaDevices, HaveTheAddressesOfTheirGidsOrInterfaces) {
  const test::FakeTree tree;
  tree.write(std::string(devices) + "mlx5_0/ports/1/state", "4: ACTIVE\n");
  tree.write(std::string(devices) + "mlx5_0/ports/1/gids/3", "0000:0000:0000:0000:0000:ffff:c0a8:4d01\n");
  tree.write(std::string(devices) + "mlx5_1/ports/1/state", "4: ACTIVE\n");
  tree.write(std::string(devices) + "mlx5_1/ports/1/link_layer", "InfiniBand\n");
  tree.write(std::string(devices) + "mlx5_1/device/net/ib0/mtu", "2044\n");
  const auto active = active_rdma_devices(tree.files());
  ASSERT_EQ(active.size(), 2U);
  const OwnAddress of_gid{.interface = "bond0", .gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 168, 77, 1}};
  const OwnAddress of_interface{.interface = "ib0"};
  EXPECT_TRUE(active[0].has(of_gid) && active[1].has(of_interface));
  EXPECT_FALSE(active[0].has(of_interface) || active[1].has(of_gid));
}

}  // namespace
}  // namespace framewire
