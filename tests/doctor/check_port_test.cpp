// Findings about one port, above all whether an address leads to it, on fake machines.
#include <gtest/gtest.h>

#include <algorithm>

#include "doctor/check.hpp"
#include "tests/doctor/machines.hpp"

namespace framewire {
namespace {

using test::find;
using test::has;
using test::rdma_machine;
using test::the_device;

RdmaPort& the_port(MachineFacts& machine) {
  return the_device(machine).ports.front();
}

TEST(CheckPort, AnInterfaceWithoutAnAddressIsFoundByNone) {
  MachineFacts machine = rdma_machine();
  the_port(machine).gids.resize(2);
  the_port(machine).addresses.emplace();
  machine.network.interfaces.front().addresses.clear();
  const Findings findings = check_machine(machine, LinkKind::rdma);
  EXPECT_EQ(find(findings, "rdma").value, "mlx5_0 port 1: its network interface has no address");
  EXPECT_EQ(find(findings, "mlx5_0 port 1").level, Level::problem);
  EXPECT_EQ(find(findings, "mlx5_0 port 1").remedy,
            std::vector<std::string>{"sudo ip address add 192.168.77.1/24 dev ens3f0np0"});
}

TEST(CheckPort, AnAddressOfTheLinkWorksAndIsNoted) {
  MachineFacts machine = rdma_machine();
  the_port(machine).gids.resize(2);
  the_port(machine).addresses = {"fe80::1"};
  machine.network.interfaces.front().addresses.clear();
  const Findings findings = check_machine(machine, LinkKind::rdma);
  EXPECT_FALSE(has_problem(findings));
  const Finding& port = find(findings, "mlx5_0 port 1");
  EXPECT_EQ(port.level, Level::note);
  EXPECT_TRUE(has(port.text, "fe80::1%eth0")) << port.text;
}

NetworkInterface& the_interface(MachineFacts& machine) {
  return machine.network.interfaces.front();
}

bool has_priorities(const Findings& findings) {
  return std::ranges::any_of(findings, [](const Finding& one) { return one.name == "mlx5_0 priorities"; });
}

TEST(CheckPort, NothingIsSaidOfPrioritiesWhereNoneIsWithoutLoss) {
  MachineFacts machine = rdma_machine();
  EXPECT_FALSE(has_priorities(check_machine(machine, LinkKind::rdma)));
  the_interface(machine).priorities = InterfacePriorities{.lossless = 0, .dscp_to_priority = {{26, 3}}};
  EXPECT_FALSE(has_priorities(check_machine(machine, LinkKind::rdma)));
}

TEST(CheckPort, TheTypeOfServiceThatLeadsToAPriorityWithoutLossIsNamed) {
  MachineFacts machine = rdma_machine();
  the_interface(machine).priorities =
      InterfacePriorities{.lossless = 1 << 3, .dscp_to_priority = {{0, 0}, {48, 6}, {24, 3}}};
  const Finding finding = find(check_machine(machine, LinkKind::rdma), "mlx5_0 priorities");
  EXPECT_EQ(finding.level, Level::ok);
  EXPECT_EQ(finding.value, "without loss (PFC): 3");
  EXPECT_TRUE(has(finding.text, "DSCP 24 leads to priority 3")) << finding.text;
  EXPECT_TRUE(has(finding.text, "--tos 96")) << finding.text;
}

TEST(CheckPort, APriorityWithoutLossThatNoPacketGoesByIsNoted) {
  MachineFacts machine = rdma_machine();
  the_interface(machine).priorities = InterfacePriorities{.lossless = 1 << 3 | 1 << 5, .dscp_to_priority = {{26, 4}}};
  const Finding finding = find(check_machine(machine, LinkKind::rdma), "mlx5_0 priorities");
  EXPECT_EQ(finding.level, Level::note);
  EXPECT_EQ(finding.value, "without loss (PFC): 3, 5");
  EXPECT_TRUE(has(finding.text, "--tos 104")) << finding.text;
  EXPECT_EQ(finding.remedy, std::vector<std::string>{"sudo dcb app add dev ens3f0np0 dscp-prio 26:3"});
}

TEST(CheckPort, AContainerHasTheFilesButNotTheNetwork) {
  MachineFacts machine = rdma_machine();
  the_port(machine).addresses.emplace();
  // Names and numbers of interfaces may also exist in the other network namespace.
  machine.network.interfaces = {{.name = "ens3f0np0", .index = 4, .is_up = true, .addresses = {"172.17.0.2"}}};
  const Findings findings = check_machine(machine, LinkKind::rdma);
  EXPECT_TRUE(has_problem(findings));
  EXPECT_EQ(find(findings, "rdma").value, "mlx5_0 port 1: its addresses are not in this process's network");
  const Finding& port = find(findings, "mlx5_0 port 1");
  EXPECT_FALSE(has(port.value, "ens3f0np0")) << port.value;
  EXPECT_TRUE(has(port.remedy.at(0), "--network=host"));
}

TEST(CheckPort, NothingIsFoundWhereNoInterfaceIsKnown) {
  MachineFacts machine = rdma_machine();
  machine.network.interfaces.clear();
  the_port(machine).addresses.emplace();
  EXPECT_TRUE(has_problem(check_machine(machine, LinkKind::rdma)));
  the_port(machine).gids.resize(2);
  EXPECT_TRUE(has_problem(check_machine(machine, LinkKind::rdma)));
}

TEST(CheckPort, AnAddressOnAVlanIsTheVlans) {
  MachineFacts machine = rdma_machine();
  the_port(machine).gids.resize(2);
  the_port(machine).gids.push_back({4, GidKind::roce_v2, GidScope::ipv4, "10.5.0.1", 9});
  the_port(machine).addresses = {"10.5.0.1"};
  the_port(machine).active_mtu_bytes = 1024;
  machine.network.interfaces.front().addresses.clear();
  machine.network.interfaces.push_back({.name = "ens3.5", .index = 9, .is_up = true, .addresses = {"10.5.0.1"}});
  const Findings findings = check_machine(machine, LinkKind::rdma);
  EXPECT_FALSE(has_problem(findings));
  EXPECT_EQ(find(findings, "rdma").value, "by mlx5_0 port 1, 10.5.0.1, 100 Gb/s");
  EXPECT_TRUE(has(find(findings, "mlx5_0 port 1").value, "ens3.5"));
  // The MTU cannot grow beyond that of the lower interface.
  EXPECT_EQ(find(findings, "mlx5_0 port 1").remedy, (std::vector<std::string>{"sudo ip link set dev ens3f0np0 mtu 9000",
                                                                              "sudo ip link set dev ens3.5 mtu 9000"}));
}

TEST(CheckPort, AGidThatIsReachableIsChosenBeforeABetterOne) {
  MachineFacts machine = rdma_machine();
  the_port(machine).gids.push_back({4, GidKind::roce_v2, GidScope::global, "fd00::1", 4});
  the_port(machine).addresses = {"fd00::1"};
  EXPECT_TRUE(has(find(check_machine(machine, LinkKind::rdma), "mlx5_0 GID").value, "fd00::1, RoCE v2, index 4 of 5"));
}

TEST(CheckPort, WhereTheConnectionManagerCannotBeAskedThatIsWhatIsSaid) {
  MachineFacts machine = rdma_machine();
  the_port(machine).addresses.reset();
  machine.rdma.manager_trouble = "No such device";
  const Findings findings = check_machine(machine, LinkKind::rdma);
  EXPECT_EQ(find(findings, "rdma").value, "rdma_cm cannot make connections: No such device");
  EXPECT_EQ(find(findings, "mlx5_0 port 1").level, Level::ok);
}

TEST(CheckPort, IwarpHasAWayOfItsOwn) {
  MachineFacts machine = rdma_machine();
  the_device(machine).transport = RdmaTransport::iwarp;
  the_port(machine).gids = {{0, GidKind::infiniband, GidScope::global, "7:4352::", 0}};
  const Findings findings = check_machine(machine, LinkKind::rdma);
  EXPECT_FALSE(has_problem(findings));
  EXPECT_EQ(find(findings, "rdma").value, "by mlx5_0 port 1, 192.168.7.1, 100 Gb/s");
  EXPECT_TRUE(has(find(findings, "mlx5_0 port 1").value, "ens3f0np0"));
  EXPECT_EQ(find(findings, "mlx5_0 GID").value, "missing");  // it is not an address
}

TEST(CheckPort, OtherKindsOfDevicesHaveNoConnections) {
  MachineFacts machine = rdma_machine();
  the_device(machine).transport = RdmaTransport::other;
  EXPECT_TRUE(has(find(check_machine(machine, std::nullopt), "mlx5_0 port 1").text, "here frames go by tcp"));
  EXPECT_TRUE(has_problem(check_machine(machine, LinkKind::rdma)));
}

TEST(CheckPort, AnInfinibandPortMayWaitForASubnetManager) {
  MachineFacts machine = rdma_machine();
  the_port(machine).link_layer = RdmaLinkLayer::infiniband;
  the_port(machine).state = RdmaPortState::init;
  EXPECT_EQ(find(check_machine(machine, std::nullopt), "mlx5_0 port 1").remedy,
            std::vector<std::string>{"sudo apt-get install opensm"});
  the_port(machine).state = RdmaPortState::armed;
  const Finding armed = find(check_machine(machine, std::nullopt), "mlx5_0 port 1");
  EXPECT_EQ(armed.level, Level::warning);
  EXPECT_FALSE(has(armed.text, "cable")) << armed.text;
}

/// An InfiniBand port, whose GIDs name no interface.
MachineFacts infiniband_machine() {
  MachineFacts machine = rdma_machine();
  the_port(machine).link_layer = RdmaLinkLayer::infiniband;
  the_port(machine).gids = {{0, GidKind::infiniband, GidScope::link_local, "fe80::1", 0}};
  the_port(machine).addresses = {"192.168.7.1"};
  machine.network.interfaces.front().name = "ibp59s0";
  return machine;
}

TEST(CheckPort, AnInfinibandPortIsFoundByTheAddressOfItsIpoib) {
  const Findings findings = check_machine(infiniband_machine(), LinkKind::rdma);
  EXPECT_FALSE(has_problem(findings));
  EXPECT_EQ(find(findings, "rdma").value, "by mlx5_0 port 1, 192.168.7.1, 100 Gb/s");
  EXPECT_TRUE(has(find(findings, "mlx5_0 port 1").value, "ibp59s0"));
}

TEST(CheckPort, WithoutIpoibAnInfinibandPortIsNotFound) {
  MachineFacts machine = infiniband_machine();
  machine.network.interfaces.clear();
  the_port(machine).addresses.emplace();
  const Findings findings = check_machine(machine, LinkKind::rdma);
  EXPECT_EQ(find(findings, "rdma").value, "mlx5_0 port 1: its network interface has no address");
  EXPECT_EQ(find(findings, "mlx5_0 port 1").remedy.at(0), "sudo modprobe ib_ipoib");
}

}  // namespace
}  // namespace framewire
