// Probes of kernel files, read from files that the test writes.
#include "doctor/probe.hpp"

#include <gtest/gtest.h>
#include <linux/dcbnl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "tests/doctor/machines.hpp"

namespace framewire {
namespace {

using test::FakeTree;

const std::string kernel = "6.1.0-25-amd64";

TEST(SystemFiles, WhatIsNotThereOrNoNumberIsNothing) {
  const FakeTree tree;
  tree.write("/sys/a", "many\n");
  tree.write("/sys/b", "-1\n");
  tree.write("/sys/c", "  12 34\nmore\n");
  tree.write("/sys/d", "");
  const SystemFiles files = tree.files();
  EXPECT_EQ(files.number("/sys/none"), std::nullopt);
  EXPECT_EQ(files.number("/sys/a"), std::nullopt);
  EXPECT_EQ(files.number("/sys/b"), std::nullopt);
  EXPECT_EQ(files.number("/sys/c"), 12U);
  EXPECT_EQ(files.line("/sys/c"), "12 34");
  EXPECT_EQ(files.line("/sys/d"), "");
  EXPECT_EQ(files.decimal("/sys/a"), std::nullopt);
  EXPECT_EQ(files.decimal("/sys/b"), std::nullopt);
  EXPECT_TRUE(files.names("/sys/none").empty());
  EXPECT_EQ(files.text("/sys"), std::nullopt);
}

TEST(SystemFiles, AHugeFileIsCutAndAFifoHoldsNobodyUp) {
  const FakeTree tree;
  tree.write("/sys/huge", std::string(1 << 20, 'x'));
  ASSERT_EQ(::mkfifo((tree.path() + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(tree.files().text("/sys/huge")->size(), SystemFiles::default_limit_bytes);
  EXPECT_EQ(tree.files().text("/fifo").value_or(""), "");
}

TEST(SystemFiles, ValuesStandBehindColonsAndEqualSigns) {
  const std::string text = "MemTotal:  16 kB\nNAME=\"a b\"\nbroken\nLAST=x";
  EXPECT_EQ(value_of(text, "MemTotal"), "16 kB");
  EXPECT_EQ(value_of(text, "NAME"), "a b");
  EXPECT_EQ(value_of(text, "LAST"), "x");
  EXPECT_EQ(value_of(text, "broken"), std::nullopt);
}

TEST(ProbeRdma, ReadsAnAdapterAndItsPlace) {
  const FakeTree tree;
  test::write_mlx5(tree);
  const RdmaFacts rdma = probe_rdma_files(tree.files(), kernel);
  ASSERT_EQ(rdma.adapters.size(), 1U);
  const RdmaAdapter& adapter = rdma.adapters.front();
  EXPECT_EQ(adapter.name, "mlx5_0");
  EXPECT_EQ(adapter.driver, "mlx5_core");
  EXPECT_EQ(adapter.numa_node, 1);
  ASSERT_TRUE(adapter.pci);
  EXPECT_EQ(adapter.pci->address, "0000:3b:00.0");
  EXPECT_EQ(adapter.pci->current.lanes, 16U);
  EXPECT_NEAR(adapter.pci->current.gigabits_per_second(), 126.0, 0.1);
  EXPECT_FALSE(adapter.pci->is_virtual);
  tree.write("/sys/class/infiniband/mlx5_0/device/physfn/uevent", "");
  EXPECT_TRUE(probe_rdma_files(tree.files(), kernel).adapters.front().pci->is_virtual);
  ASSERT_EQ(adapter.ports.size(), 1U);
  EXPECT_EQ(adapter.ports.front().state, "ACTIVE");
  EXPECT_EQ(adapter.ports.front().gigabits_per_second, 100);
  EXPECT_EQ(adapter.ports.front().interface, "ens3f0np0");
  ASSERT_EQ(rdma.files.size(), 2U);
  EXPECT_TRUE(rdma.files.front().is_usable);
}

TEST(ProbeRdma, SoftRoceNamesItsParent) {
  const FakeTree tree;
  tree.write("/sys/class/infiniband/rxe0/parent", "eth0\n");
  tree.write("/sys/class/infiniband/rxe0/ports/1/state", "4: ACTIVE\n");
  const RdmaFacts rdma = probe_rdma_files(tree.files(), kernel);
  ASSERT_EQ(rdma.adapters.size(), 1U);
  EXPECT_EQ(rdma.adapters.front().pci, std::nullopt);
  EXPECT_EQ(rdma.adapters.front().ports.at(0).interface, "eth0");
}

TEST(ProbeRdma, NonsenseInSysfsIsPassedOver) {
  const FakeTree tree;
  test::write_mlx5(tree);
  const std::string folder = "/sys/class/infiniband/mlx5_0/";
  tree.write(folder + "device/current_link_width", "99999999999999999999999\n");
  tree.write(folder + "device/current_link_speed", "Unknown\n");
  tree.write(folder + "device/numa_node", "-1\n");
  tree.write(folder + "ports/0/state", "4: ACTIVE\n");
  tree.write(folder + "ports/300/state", "4: ACTIVE\n");
  tree.write(folder + "ports/one/state", "4: ACTIVE\n");
  tree.write(folder + "ports/1/rate", "fast\n");
  const RdmaAdapter adapter = probe_rdma_files(tree.files(), kernel).adapters.at(0);
  EXPECT_EQ(adapter.pci->current.lanes, 0U);
  EXPECT_EQ(adapter.pci->current.gigabits_per_second(), 0);
  EXPECT_EQ(adapter.numa_node, std::nullopt);
  ASSERT_EQ(adapter.ports.size(), 1U);
  EXPECT_EQ(adapter.ports.front().gigabits_per_second, 0);
}

TEST(ProbeRdma, ACardWithoutItsRdmaDriverIsSeen) {
  const FakeTree tree;
  tree.write("/sys/bus/pci/devices/0000:3b:00.0/uevent", "DRIVER=mlx5_core\n");
  tree.write("/sys/bus/pci/devices/0000:3c:00.0/uevent", "DRIVER=mlx5_core\n");
  tree.write("/sys/bus/pci/devices/0000:3c:00.0/infiniband/mlx5_0/node_type", "1: CA\n");
  tree.write("/sys/bus/pci/devices/0000:00:1f.6/uevent", "DRIVER=e1000e\n");
  const RdmaFacts rdma = probe_rdma_files(tree.files(), kernel);
  ASSERT_EQ(rdma.dormant_cards.size(), 1U);
  EXPECT_EQ(rdma.dormant_cards.front().address, "0000:3b:00.0");
  EXPECT_EQ(rdma.dormant_cards.front().module, "mlx5_ib");
  EXPECT_EQ(rdma.dormant_cards.front().state, ModuleState::unknown);
  tree.write("/lib/modules/" + kernel + "/modules.dep", "kernel/drivers/infiniband/hw/mlx5/mlx5_ib.ko:\n");
  EXPECT_EQ(probe_rdma_files(tree.files(), kernel).dormant_cards.front().state, ModuleState::loadable);
}

TEST(ProbeRdma, AModuleIsLoadedBuiltInLoadableOrAbsent) {
  const FakeTree tree;
  tree.write("/sys/module/ib_core/initstate", "live\n");
  tree.write("/sys/module/configfs/parameters/x", "1\n");
  tree.write("/lib/modules/" + kernel + "/modules.builtin", "kernel/drivers/infiniband/core/ib_uverbs.ko\n");
  tree.write("/lib/modules/" + kernel + "/modules.dep",
             "kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko.xz: kernel/drivers/infiniband/core/ib_core.ko.xz\n"
             "kernel/drivers/video/nvidia-peermem.ko:\n");
  const auto state = [&](const char* name) { return module_state(tree.files(), kernel, name); };
  EXPECT_EQ(state("ib_core"), ModuleState::loaded);
  EXPECT_EQ(state("configfs"), ModuleState::built_in);
  EXPECT_EQ(state("ib_uverbs"), ModuleState::built_in);
  EXPECT_EQ(state("rdma_rxe"), ModuleState::loadable);
  EXPECT_EQ(state("nvidia_peermem"), ModuleState::loadable);
  EXPECT_EQ(state("rdma_ucm"), ModuleState::absent);
  EXPECT_EQ(module_state(tree.files(), "9.9", "rdma_ucm"), ModuleState::unknown);  // that kernel has no modules list
}

TEST(ProbeRdma, DevicesOfVerbsAreJoinedByName) {
  const FakeTree tree;
  test::write_mlx5(tree);
  RdmaFacts rdma = probe_rdma_files(tree.files(), kernel);
  RdmaDevice other = test::mlx5_device();
  other.name = "mlx5_9";
  join_devices(rdma, {other, test::mlx5_device()});
  ASSERT_EQ(rdma.adapters.size(), 2U);
  EXPECT_EQ(rdma.adapters.at(0).device->name, "mlx5_0");
  EXPECT_EQ(rdma.adapters.at(1).name, "mlx5_9");
}

TEST(ProbeMemory, ReadsHugePagesAndLimits) {
  const FakeTree tree;
  tree.write("/proc/meminfo",
             "MemTotal: 1000 kB\nMemAvailable: 500 kB\nHugePages_Total: 4\nHugePages_Free: 3\nHugepagesize: 2048 kB\n");
  tree.write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  tree.write("/proc/self/cgroup", "0::/\n");
  tree.write("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  tree.write("/sys/fs/cgroup/memory.max", "max\n");
  tree.write("/sys/fs/cgroup/memory.current", "1000\n");
  tree.write("/proc/self/status", "CapEff:\t0000000000004000\n");
  tree.write("/proc/self/uid_map", "         0          0 4294967295\n");
  MemoryFacts memory = probe_memory(tree.files());
  EXPECT_EQ(memory.total_bytes, 1024000U);
  EXPECT_EQ(memory.available_bytes, 512000U);
  EXPECT_EQ(memory.huge_page_bytes, 2097152U);
  EXPECT_EQ(memory.huge_pages, "madvise");
  EXPECT_EQ(memory.shared_huge_pages, "");
  EXPECT_EQ(memory.group_limit_bytes, std::nullopt);
  EXPECT_TRUE(memory.may_lock_all);
  tree.write("/proc/self/uid_map", "         0     100000      65536\n");  // root in a user namespace
  tree.write("/sys/fs/cgroup/memory.max", "1073741824\n");
  memory = probe_memory(tree.files());
  EXPECT_FALSE(memory.may_lock_all);
  EXPECT_EQ(memory.group_limit_bytes, 1073741824U);
}

TEST(ProbeMemory, WhatTheSystemDoesNotSayIsNotKnown) {
  const FakeTree tree;
  const MemoryFacts memory = probe_memory(tree.files());
  EXPECT_EQ(memory.total_bytes, std::nullopt);
  EXPECT_EQ(memory.available_bytes, std::nullopt);
  EXPECT_EQ(memory.group_limit_bytes, std::nullopt);
}

TEST(ProbeMemory, TheTightestGroupOnTheWayUpCounts) {
  const FakeTree tree;
  const std::string user = "/sys/fs/cgroup/user.slice/";
  tree.write("/proc/self/cgroup", "0::/user.slice/run-7.scope\n");
  tree.write("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  tree.write(user + "run-7.scope/memory.max", "max\n");
  tree.write(user + "run-7.scope/memory.current", "500000\n");
  tree.write(user + "memory.max", "1000000\n");
  tree.write(user + "memory.current", "700000\n");
  tree.write(user + "memory.stat", "anon 500000\ninactive_file_x 1\ninactive_file 200000\n");
  tree.write("/sys/fs/cgroup/memory.max", "4000000\n");
  tree.write("/sys/fs/cgroup/memory.current", "1000\n");
  const MemoryFacts memory = probe_memory(tree.files());
  EXPECT_EQ(memory.group_limit_bytes, 1000000U);
  EXPECT_EQ(memory.group_free_bytes, 500000U);  // the page cache can be reclaimed
}

TEST(ProbeMemory, GroupsOfVersionOneCountToo) {
  const FakeTree tree;
  const std::string folder = "/sys/fs/cgroup/memory/";
  tree.write("/proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/docker/1c52\n0::/\n");
  tree.write("/proc/self/mountinfo", "31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  tree.write(folder + "memory.limit_in_bytes", "9223372036854771712\n");
  tree.write(folder + "memory.usage_in_bytes", "1200000\n");
  EXPECT_EQ(probe_memory(tree.files()).group_limit_bytes, std::nullopt);
  tree.write(folder + "docker/1c52/memory.limit_in_bytes", "1000000\n");
  tree.write(folder + "docker/1c52/memory.usage_in_bytes", "1200000\n");
  const MemoryFacts memory = probe_memory(tree.files());
  EXPECT_EQ(memory.group_limit_bytes, 1000000U);
  EXPECT_EQ(memory.group_free_bytes, 0U);
}

TEST(ProbeProcess, WithoutItsOwnFolderNothingLiesBesideThisProgram) {
  const FakeTree tree;  // has no /proc/self/exe
  for (const char* name : {"/framewire-doctor-gl", "/framewire-send"}) {
    tree.write(name, "#!/bin/sh\necho '{\"renderer\": \"planted\"}'\n");
    ::chmod((tree.path() + name).c_str(), 0700);
  }
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(tree.path());
  const OpenGlFacts opengl = probe_opengl(tree.files());
  SystemFacts system;
  MemoryFacts memory;
  probe_process(tree.files(), system, memory);
  std::filesystem::current_path(before);
  EXPECT_FALSE(opengl.is_installed);
  EXPECT_EQ(opengl.renderer, "");
  EXPECT_TRUE(system.programs_beside.empty());
}

TEST(ProbeSystem, KnowsContainersByTheirMarks) {
  const FakeTree tree;
  EXPECT_EQ(probe_system(tree.files()).container, "");
  tree.write("/proc/1/environ", std::string("PATH=/bin\0container=lxc\0", 24));
  EXPECT_EQ(probe_system(tree.files()).container, "lxc");
  tree.write("/.dockerenv", "");
  EXPECT_EQ(probe_system(tree.files()).container, "docker");
}

TEST(ProbeNetwork, ReadsBuffersAndInterfaces) {
  const FakeTree tree;
  test::write_mlx5(tree);
  tree.write("/sys/class/net/bonding_masters", "\n");
  tree.write("/sys/class/net/wlan0/flags", "0x1002\n");
  tree.write("/sys/class/net/wlan0/speed", "-1\n");
  tree.write("/proc/sys/net/ipv4/tcp_rmem", "8192\t131072\t33554432\n");
  tree.write("/proc/sys/net/ipv4/tcp_wmem", "4096\n");
  const NetworkFacts network = probe_network(tree.files());
  ASSERT_EQ(network.interfaces.size(), 2U);
  EXPECT_EQ(network.interfaces.at(0).megabits_per_second, 100000U);
  EXPECT_TRUE(network.interfaces.at(0).is_up);
  EXPECT_FALSE(network.interfaces.at(1).is_up);
  EXPECT_EQ(network.interfaces.at(1).megabits_per_second, std::nullopt);
  EXPECT_EQ(network.tcp_receive_bytes, 33554432U);
  EXPECT_EQ(network.tcp_receive_begin, "8192 131072");
  EXPECT_EQ(network.tcp_send_bytes, std::nullopt);
}

TEST(ProbeNetwork, KnowsCardsAndTheWayToEverywhere) {
  const FakeTree tree;
  for (const char* name : {"docker0", "eth0", "eth1", "lo"}) {
    tree.write(std::string("/sys/class/net/") + name + "/flags", "0x1003\n");
  }
  tree.write("/sys/class/net/eth0/device/vendor", "0x15b3\n");
  tree.write("/proc/net/route",
             "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
             "eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
             "docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n");
  const std::string none(32, '0');
  tree.write("/proc/net/ipv6_route",
             none + " 00 " + none +
                 " 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth1\n" + none + " 00 " +
                 none + " 00 " + none + " ffffffff 00000001 00000000 00200200       lo\n");
  std::vector<std::string> cards;
  std::vector<std::string> ways;
  for (const NetworkInterface& one : probe_network(tree.files()).interfaces) {
    if (one.has_card) {
      cards.push_back(one.name);
    }
    if (one.has_default_route) {
      ways.push_back(one.name);
    }
  }
  EXPECT_EQ(cards, std::vector<std::string>{"eth0"});
  EXPECT_EQ(ways, (std::vector<std::string>{"eth0", "eth1"}));
}

TEST(ProbeNetwork, WithoutSysInterfacesAreKnownByTheirAddresses) {
  NetworkFacts network;
  probe_addresses(network);
  const auto loopback = std::ranges::find_if(network.interfaces, &NetworkInterface::is_loopback);
  ASSERT_NE(loopback, network.interfaces.end());
  EXPECT_TRUE(loopback->is_up);
  EXPECT_NE(std::ranges::find(loopback->addresses, "127.0.0.1"), loopback->addresses.end());
}

TEST(ProbeGpu, ReadsTheDriverAndItsCards) {
  const FakeTree tree;
  tree.write("/proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.14  Release Build\nGCC version: 12\n");
  tree.write("/proc/driver/nvidia/gpus/0000:65:00.0/information", "Model: \t\t NVIDIA H200\nIRQ:   1\n");
  tree.write("/sys/module/nvidia_peermem/initstate", "live\n");
  const GpuFacts gpu = probe_gpu_files(tree.files(), kernel);
  EXPECT_EQ(gpu.kernel_driver, "550.54.14");
  ASSERT_EQ(gpu.cards.size(), 1U);
  EXPECT_EQ(gpu.cards.front().model, "NVIDIA H200");
  EXPECT_TRUE(gpu.has_peermem);
}

TEST(ProbeOpenGl, BelievesNoHelperThatSaysNonsense) {
  EXPECT_NE(parse_opengl_output("", true).trouble, "");
  EXPECT_NE(parse_opengl_output("[1]", true).trouble, "");
  EXPECT_NE(parse_opengl_output("{}", true).trouble, "");
  EXPECT_NE(parse_opengl_output(R"({"renderer": 7})", true).trouble, "");
  EXPECT_EQ(parse_opengl_output(R"({"error": "no EGL"})", false).trouble, "no EGL");
  const OpenGlFacts good = parse_opengl_output(R"({"renderer": "llvmpipe", "is_software": true})", true);
  EXPECT_EQ(good.trouble, "");
  EXPECT_TRUE(good.is_software);
}

TEST(ProbeLinks, TheLinksWithoutHardwareWorkHere) {
  const LinkFacts links = probe_links();
  EXPECT_EQ(links.local_trouble, "");
  EXPECT_EQ(links.tcp_trouble, "");
}

/// An attribute of netlink, padded.
std::string attribute(unsigned type, const std::string& payload) {
  const nlattr head{.nla_len = static_cast<std::uint16_t>(sizeof head + payload.size()),
                    .nla_type = static_cast<std::uint16_t>(type)};
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  bytes += payload;
  bytes.resize((bytes.size() + NLA_ALIGNTO - 1) / NLA_ALIGNTO * NLA_ALIGNTO);
  return bytes;
}

template <typename Value>
std::string bytes_of(const Value& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::optional<InterfacePriorities> read(const std::string& parts, std::uint16_t type = RTM_GETDCB) {
  nlmsghdr head{};
  head.nlmsg_type = type;
  const std::string answer = bytes_of(head) + bytes_of(dcbmsg{}) + attribute(DCB_ATTR_IEEE | NLA_F_NESTED, parts);
  return read_priorities(std::as_bytes(std::span(answer)));
}

std::string app(std::uint8_t selector, std::uint8_t priority, std::uint16_t protocol) {
  return attribute(DCB_ATTR_IEEE_APP,
                   bytes_of(dcb_app{.selector = selector, .priority = priority, .protocol = protocol}));
}

TEST(Priorities, AreThoseThatTheKernelTellsOf) {
  ieee_pfc control{};
  control.pfc_en = 1 << 3;
  const std::string apps =
      attribute(DCB_ATTR_IEEE_APP_TABLE | NLA_F_NESTED,
                app(IEEE_8021QAZ_APP_SEL_DSCP, 3, 26) + app(IEEE_8021QAZ_APP_SEL_ETHERTYPE, 3, 0x8915) +
                    app(IEEE_8021QAZ_APP_SEL_DSCP, 9, 27) + app(IEEE_8021QAZ_APP_SEL_DSCP, 6, 48));
  const auto priorities = read(attribute(DCB_ATTR_IEEE_PFC, bytes_of(control)) + apps);
  ASSERT_TRUE(priorities);
  EXPECT_EQ(priorities->lossless, 8);
  EXPECT_EQ(priorities->dscp_to_priority, (std::vector<std::pair<std::uint8_t, std::uint8_t>>{{26, 3}, {48, 6}}));
}

TEST(Priorities, AreNotKnownWhereTheDriverTellsOfNone) {
  EXPECT_FALSE(read(""));
  EXPECT_FALSE(read(attribute(DCB_ATTR_IEEE_PFC, "short")));
  EXPECT_FALSE(read(attribute(DCB_ATTR_IEEE_PFC, bytes_of(ieee_pfc{})), NLMSG_ERROR));
  EXPECT_FALSE(read_priorities({}));
  std::string cut = attribute(DCB_ATTR_IEEE_PFC, bytes_of(ieee_pfc{}));
  cut[0] = static_cast<char>(cut.size() + 1);  // longer than the buffer
  EXPECT_FALSE(read(cut));
}

/// A part of the kernel's answer about one interface.
std::string xdp_answer(std::uint32_t index, std::uint64_t features, std::uint16_t type = 33) {
  const std::string attributes = attribute(1, bytes_of(index)) + attribute(3, bytes_of(features));
  nlmsghdr head{};
  head.nlmsg_type = type;
  head.nlmsg_len = static_cast<__u32>(sizeof head + sizeof(genlmsghdr) + attributes.size());
  return bytes_of(head) + bytes_of(genlmsghdr{}) + attributes;
}

bool read_xdp(const std::string& answer, NetworkFacts& network) {
  return read_xdp_features(std::as_bytes(std::span(answer)), network);
}

TEST(XdpFeaturesTest, AreThoseThatTheKernelTellsOf) {
  NetworkFacts network;
  network.interfaces = {{.name = "eth0", .index = 2}, {.name = "eth1", .index = 3}, {.name = "eth2", .index = 4}};
  EXPECT_TRUE(read_xdp(xdp_answer(2, 1 | 2) + xdp_answer(3, 1 | 2 | 8) + xdp_answer(9, 8), network)) << "more may come";
  ASSERT_TRUE(network.interfaces[0].xdp && network.interfaces[1].xdp);
  EXPECT_TRUE(network.interfaces[0].xdp->has_native);
  EXPECT_FALSE(network.interfaces[0].xdp->has_zero_copy);
  EXPECT_TRUE(network.interfaces[1].xdp->has_zero_copy);
  EXPECT_FALSE(network.interfaces[2].xdp) << "nothing was said of it";
}

TEST(XdpFeaturesTest, EndWithTheAnswer) {
  NetworkFacts network;
  network.interfaces = {{.name = "eth0", .index = 2}};
  EXPECT_FALSE(read_xdp(xdp_answer(2, 2, NLMSG_DONE), network));
  EXPECT_FALSE(read_xdp(xdp_answer(2, 2, NLMSG_ERROR), network));
  for (std::size_t cut = 0; cut < xdp_answer(2, 2).size(); ++cut) {
    read_xdp(xdp_answer(2, 2).substr(0, cut), network);
    EXPECT_FALSE(network.interfaces[0].xdp) << cut;
  }
  std::string endless = xdp_answer(2, 2);
  endless.replace(0, 4, 4, '\0');
  EXPECT_FALSE(read_xdp(endless, network));
}

}  // namespace
}  // namespace framewire
