// Which GPU is nearest to RDMA devices, by made-up files of sysfs.
#include "command/nearest_gpu.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/host_addresses.hpp"
#include "tests/base/fake_tree.hpp"

namespace framewire {
namespace {

// Below a port of the first processor: a switch, and one more switch below that.
const std::string first_switch = "0000:3a/0000:3a:00.0/0000:3b:00.0";
const std::string second_switch = first_switch + "/0000:3c:08.0/0000:40:00.0";
// Other ports of the same host bridge, and one of another host bridge of that processor.
const std::string port = "0000:3a/0000:3a:02.0";
const std::string port_beside = "0000:3a/0000:3a:03.0";
const std::string other_bridge = "0000:50/0000:50:00.0";
// Of the second processor, which is node 1.
const std::string other_processor = "0000:80/0000:80:00.0";
const std::string port_there = "0000:80/0000:80:01.0";

class NearestGpuOf : public testing::Test {
 protected:
  void add_card(const std::string& name, const std::string& bridges, const std::string& address,
                const std::string& node = "0") const {
    test::write_pci_device(tree_, bridges, address, node);
    test::write_rdma_device(tree_, name, address);
  }
  void add_gpu(const std::string& bridges, const std::string& address, const std::string& node = "0") {
    test::write_pci_device(tree_, bridges, address, node);
    gpus_.push_back(address);
  }
  /// "1 mlx5_0 switch": index, RDMA device, distance; empty: nothing is known.
  [[nodiscard]] std::string nearest(const std::vector<EndpointOptions>& sessions = {EndpointOptions()}) const {
    std::vector<const EndpointOptions*> each;
    for (const EndpointOptions& session : sessions) {
      each.push_back(&session);
    }
    const auto found = nearest_gpu(gpus_, each, tree_.files());
    return found ? std::to_string(found->index) + " " + found->rdma_device + " " + std::string(name(found->distance))
                 : "";
  }

  test::FakeTree tree_;
  std::vector<std::string> gpus_;
};

EndpointOptions dialling(const std::string& host) {
  EndpointOptions options;
  options.dial = HostPort{.host = host};
  return options;
}

TEST_F(NearestGpuOf, HasTheFewestBridgesBetween) {
  add_card("mlx5_0", first_switch + "/0000:3c:00.0", "0000:3d:00.0");
  add_gpu(other_processor, "0000:81:00.0", "1");
  EXPECT_EQ(nearest(), "0 mlx5_0 machine");
  add_gpu(other_bridge, "0000:51:00.0");
  EXPECT_EQ(nearest(), "1 mlx5_0 processor");
  add_gpu(port, "0000:48:00.0");
  EXPECT_EQ(nearest(), "2 mlx5_0 host_bridge");
  add_gpu(second_switch + "/0000:41:00.0", "0000:42:00.0");
  EXPECT_EQ(nearest(), "3 mlx5_0 switches");
  add_gpu(first_switch + "/0000:3c:04.0", "0000:3e:00.0");
  EXPECT_EQ(nearest(), "4 mlx5_0 switch");
}

TEST_F(NearestGpuOf, IsTheFirstOfEquals) {
  add_card("mlx5_1", other_processor, "0000:81:00.0", "1");
  add_card("mlx5_0", port, "0000:48:00.0");
  add_gpu(other_bridge, "0000:51:00.0");
  add_gpu(port_there, "0000:82:00.0", "1");
  add_gpu(port_beside, "0000:49:00.0");
  EXPECT_EQ(nearest(), "1 mlx5_1 host_bridge");
}

TEST_F(NearestGpuOf, IsNearToAnyOfSeveralDevices) {
  add_card("mlx5_0", other_bridge, "0000:51:00.0");
  add_card("mlx5_1", other_processor, "0000:81:00.0", "1");
  add_gpu(port, "0000:48:00.0");
  add_gpu(port_there, "0000:82:00.0", "1");
  EXPECT_EQ(nearest(), "1 mlx5_1 host_bridge");
}

TEST_F(NearestGpuOf, IsNotKnownWithoutAnRdmaDevice) {
  add_gpu(port, "0000:48:00.0");
  EXPECT_EQ(nearest(), "");
}

TEST_F(NearestGpuOf, DependsOnNoDeviceThatIsDownOrSoftware) {
  add_gpu(port, "0000:48:00.0");
  test::write_pci_device(tree_, port_beside, "0000:49:00.0", "0");
  test::write_rdma_device(tree_, "mlx5_0", "0000:49:00.0", "1: DOWN");
  tree_.write("/sys/class/infiniband/rxe0/ports/1/state", "4: ACTIVE\n");
  tree_.write("/sys/class/infiniband/rxe0/parent", "eth0\n");
  EXPECT_EQ(nearest(), "");
}

TEST_F(NearestGpuOf, IsThatOfAVirtualFunction) {
  add_card("mlx5_2", first_switch + "/0000:3c:00.0", "0000:3d:00.2");
  tree_.write("/sys/bus/pci/devices/0000:3d:00.2/physfn/numa_node", "0\n");
  add_gpu(other_bridge, "0000:51:00.0");
  add_gpu(first_switch + "/0000:3c:04.0", "0000:3e:00.0");
  EXPECT_EQ(nearest(), "1 mlx5_2 switch");
}

/// As on a machine with one processor, or where a container hides files: what is not known is never nearer.
TEST_F(NearestGpuOf, IsNoneWhoseDistanceIsNotKnown) {
  add_card("mlx5_0", other_processor, "0000:81:00.0", "-1");
  gpus_.emplace_back("0000:99:00.0");  // not in sysfs
  gpus_.emplace_back("");
  gpus_.emplace_back("../../../../..");
  add_gpu(other_bridge, "0000:51:00.0", "-1");
  add_gpu("0000:52/0000:52:00.0", "0000:53:00.0", "garbage");
  EXPECT_EQ(nearest(), "");
  add_gpu(port_there, "0000:82:00.0", "-1");
  EXPECT_EQ(nearest(), "5 mlx5_0 host_bridge");
}

TEST_F(NearestGpuOf, IsNotKnownByFilesThatAreGarbage) {
  add_gpu(port, "0000:48:00.0");
  for (const char* const said :
       {"PCI_SLOT_NAME=../../../../usr\n", "PCI_SLOT_NAME=\n", "PCI_SLOT_NAME", "\n", "\xff"}) {
    tree_.write("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
    tree_.write("/sys/class/infiniband/mlx5_0/device/uevent", said);
    EXPECT_EQ(nearest(), "") << said;
  }
}

TEST_F(NearestGpuOf, MattersOnlyWhereASessionMayUseRdma) {
  add_card("mlx5_0", port, "0000:48:00.0");
  add_gpu(port_beside, "0000:49:00.0");
  EndpointOptions by_tcp;
  by_tcp.allowed_links = {LinkKind::local, LinkKind::tcp};
  EXPECT_EQ(nearest({}), "");
  EXPECT_EQ(nearest({by_tcp}), "");
  EXPECT_EQ(nearest({by_tcp, EndpointOptions()}), "0 mlx5_0 host_bridge");
}

TEST_F(NearestGpuOf, CountsEveryDeviceWhereNoAddressTellsTheWay) {
  add_card("mlx5_0", other_bridge, "0000:51:00.0");
  add_card("mlx5_1", port_beside, "0000:49:00.0");
  add_gpu(port, "0000:48:00.0");
  EndpointOptions listening;
  for (const char* const host : {"", "*", "0.0.0.0", "127.0.0.1", "::1"}) {
    listening.listen = HostPort{.host = host};
    EXPECT_EQ(nearest({listening}), "0 mlx5_1 host_bridge") << host;
  }
  for (const char* const host :
       {"localhost", "no.such.host.invalid", "127.0.0.1", "::ffff:127.0.0.1", "fe80::1", "fe80::1%lo"}) {
    EXPECT_EQ(nearest({dialling(host)}), "0 mlx5_1 host_bridge") << host;
  }
}

/// The second device has an address of this machine, and the first one is nearer to a GPU.
TEST_F(NearestGpuOf, IsNearToTheDeviceWithTheAddressOnTheWay) {
  const auto addresses = own_addresses();
  if (addresses.empty()) {
    GTEST_SKIP() << "this machine has only loopback addresses";
  }
  const OwnAddress& own = addresses.front();
  add_card("mlx5_0", port, "0000:48:00.0");
  add_card("mlx5_1", other_processor, "0000:81:00.0", "1");
  add_gpu(port_beside, "0000:49:00.0");
  add_gpu("0000:90/0000:90:00.0", "0000:91:00.0", "1");
  tree_.write("/sys/class/infiniband/mlx5_1/ports/1/link_layer", "InfiniBand\n");
  tree_.write("/sys/class/infiniband/mlx5_1/device/net/" + own.interface + "/dev_id", "0x0\n");
  EndpointOptions listening;
  listening.listen = HostPort{.host = own.text};
  EndpointOptions at_rdma_address = dialling("127.0.0.1");
  at_rdma_address.native_address = own.text;
  for (const EndpointOptions& session : {listening, dialling(own.text), at_rdma_address}) {
    EXPECT_EQ(nearest({session}), "1 mlx5_1 processor");
  }
  EXPECT_EQ(nearest({listening, EndpointOptions()}), "0 mlx5_0 host_bridge") << "the other session may use both";
}

}  // namespace
}  // namespace framewire
