// How far GPUs and network cards are apart, by paths like those of sysfs.
#include "base/pci_route.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/base/fake_tree.hpp"

namespace framewire {
namespace {

using test::FakeTree;

PciRoute at(const std::string& path, std::optional<int> numa_node = std::nullopt) {
  return {.path = "/sys/devices/pci" + path, .numa_node = numa_node};
}

TEST(PciRoute, SaysHowFarTwoDevicesAreApart) {
  const std::string switch_of_card = "0000:3a/0000:3a:00.0/0000:3b:00.0";
  const PciRoute card = at(switch_of_card + "/0000:3c:00.0/0000:3d:00.0", 0);
  EXPECT_EQ(distance_between(card, at(switch_of_card + "/0000:3c:04.0/0000:3e:00.0", 0)), PciDistance::one_switch);
  EXPECT_EQ(distance_between(card, at(switch_of_card + "/0000:3c:08.0/0000:3f:00.0/0000:40:00.0/0000:41:00.0")),
            PciDistance::switches);
  EXPECT_EQ(distance_between(card, at("0000:3a/0000:3a:02.0/0000:50:00.0")), PciDistance::host_bridge);
  EXPECT_EQ(distance_between(card, at("0000:80/0000:80:00.0/0000:81:00.0", 0)), PciDistance::processor);
  EXPECT_EQ(distance_between(card, at("0000:80/0000:80:00.0/0000:81:00.0", 1)), PciDistance::machine);
  EXPECT_EQ(distance_between(card, at("0000:80/0000:80:00.0/0000:81:00.0")), PciDistance::unknown);
}

TEST(PciRoute, IsUnknownWithoutAPath) {
  EXPECT_EQ(distance_between({}, {}), PciDistance::unknown);
  EXPECT_EQ(distance_between({.path = "/sys/devices/virtual/nvme"}, at("0000:80/0000:81:00.0")), PciDistance::unknown);
  EXPECT_EQ(distance_between(at(""), at("")), PciDistance::unknown);
}

TEST(PciRoute, IsReadFromSysfs) {
  const FakeTree tree;
  test::write_pci_device(tree, "0000:3a/0000:3a:00.0", "0000:3b:00.0", "1");
  test::write_pci_device(tree, "0000:3a/0000:3a:01.0", "0000:3c:00.0", "-1");
  const PciRoute first = read_pci_route(tree.files(), "0000:3B:00.0");
  EXPECT_EQ(first.path, "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0");
  EXPECT_EQ(first.numa_node, 1);
  EXPECT_FALSE(read_pci_route(tree.files(), "0000:3c:00.0").numa_node);
  EXPECT_EQ(read_pci_route(tree.files(), "0000:99:00.0").path, "");
}

TEST(PciRoute, DoesNotLeaveTheFolder) {
  const FakeTree tree;
  std::filesystem::create_directories(tree.path() + "/sys/bus/pci/devices");
  std::filesystem::create_directory_symlink("/usr", tree.path() + "/sys/bus/pci/devices/0000:3b:00.0");
  EXPECT_EQ(read_pci_route(tree.files(), "0000:3b:00.0").path, "");
}

}  // namespace
}  // namespace framewire
