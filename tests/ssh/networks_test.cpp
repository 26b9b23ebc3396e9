#include "ssh/networks.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/base/temporary_folder.hpp"

namespace framewire {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

/// A fake machine with a folder /sys/class/infiniband.
class RdmaNetworksOf : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& line) const {
    const fs::path whole = fs::path(folder_.path()) / "sys/class/infiniband" / path;
    fs::create_directories(whole.parent_path());
    std::ofstream(whole) << line << "\n";
  }
  /// Writes a port with a GID table. All other entries are empty.
  void write_port(const std::string& port, const std::string& state, const std::string& link_layer,
                  const std::vector<std::pair<int, std::string>>& gids) const {
    write(port + "/state", state);
    write(port + "/link_layer", link_layer);
    for (int index = 0; index < 40; ++index) {
      write(port + "/gids/" + std::to_string(index), "0000:0000:0000:0000:0000:0000:0000:0000");
    }
    for (const auto& [index, gid] : gids) {
      write(port + "/gids/" + std::to_string(index), gid);
    }
  }
  [[nodiscard]] Texts networks() const {
    return rdma_networks(addresses_, active_rdma_devices(SystemFiles(folder_.path())));
  }

  static OwnAddress address(const std::string& interface, const std::string& text, unsigned bits,
                            std::array<std::uint8_t, 16> gid) {
    return {.interface = interface, .text = text, .prefix_bits = bits, .gid = gid, .is_running = true};
  }
  static constexpr std::array<std::uint8_t, 16> v4(std::uint8_t last) {
    return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 168, 77, last};
  }

  const std::vector<OwnAddress> addresses_ = {
      address("eth0", "192.168.77.1", 24, v4(1)), address("eth0.7", "192.168.77.65", 26, v4(65)),
      address("eth1", "2001:db8::1", 64, {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}),
      address("ib0", "10.1.0.1", 16, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 0, 1})};

 private:
  test::TemporaryFolder folder_;
};

const std::string gid_1 = "0000:0000:0000:0000:0000:ffff:c0a8:4d01";
const std::string gid_65 = "0000:0000:0000:0000:0000:ffff:c0a8:4d41";
const std::string gid_v6 = "2001:0db8:0000:0000:0000:0000:0000:0001";

TEST_F(RdmaNetworksOf, NoDeviceHasNone) {
  EXPECT_EQ(networks(), Texts{});
}

TEST_F(RdmaNetworksOf, ARoceDeviceHasTheAddressesOfItsGids) {
  write_port("mlx5_0/ports/1", "4: ACTIVE", "Ethernet", {{0, "fe80:0000:0000:0000:0000:0000:0000:0001"}, {3, gid_1}});
  EXPECT_EQ(networks(), Texts{"192.168.77.1/24"});
  write_port("mlx5_1/ports/1", "4: ACTIVE", "Ethernet", {{2, gid_65}, {17, gid_v6}});
  EXPECT_EQ(networks(), (Texts{"192.168.77.1/24", "192.168.77.65/26", "2001:db8::1/64"}));
}

TEST_F(RdmaNetworksOf, APortThatIsDownHasNone) {
  write_port("mlx5_0/ports/1", "1: DOWN", "Ethernet", {{0, gid_1}});
  EXPECT_EQ(networks(), Texts{});
}

/// Every container sees the machine's RDMA devices. Their interface names may belong to other interfaces there.
TEST_F(RdmaNetworksOf, ADeviceWhoseAddressesAreElsewhereHasNone) {
  write_port("mlx5_0/ports/1", "4: ACTIVE", "Ethernet", {{0, "0000:0000:0000:0000:0000:ffff:0a00:0001"}});
  write("mlx5_0/ports/1/gid_attrs/ndevs/0", "eth0");
  EXPECT_EQ(networks(), Texts{});
}

TEST_F(RdmaNetworksOf, AnInfiniBandDeviceHasThoseOfItsInterfaces) {
  write_port("mlx4_0/ports/1", "4: ACTIVE", "InfiniBand", {{0, "fe80:0000:0000:0000:0002:c903:0000:0001"}});
  write("mlx4_0/device/net/ib0/dev_id", "0x0");
  EXPECT_EQ(networks(), Texts{"10.1.0.1/16"});
}

/// The port's link layer is Ethernet, and its GID identifies only the card.
TEST_F(RdmaNetworksOf, AnIwarpDeviceToo) {
  write_port("cxgb4_0/ports/1", "4: ACTIVE", "Ethernet", {{0, "0007:4329:0000:0000:0000:0000:0000:0000"}});
  write("cxgb4_0/node_type", "4: RNIC");
  write("cxgb4_0/device/net/eth1/dev_id", "0x0");
  EXPECT_EQ(networks(), Texts{"2001:db8::1/64"});
}

TEST_F(RdmaNetworksOf, NonsenseCountsForNothing) {
  write_port("mlx5_0/ports/1", "4: ACTIVE", "Ethernet", {{0, "x"}, {1, ""}, {2, gid_1}});
  EXPECT_EQ(networks(), Texts{"192.168.77.1/24"});
}

}  // namespace
}  // namespace framewire
