#include "tests/doctor/machines.hpp"

#include <algorithm>

#include "doctor/probe.hpp"

namespace framewire::test {

void write_mlx5(const FakeTree& tree) {
  const std::string folder = "/sys/class/infiniband/mlx5_0/";
  tree.write(folder + "board_id", "MT_0000000008\n");
  tree.write(folder + "device/uevent", "DRIVER=mlx5_core\nPCI_CLASS=20000\nPCI_SLOT_NAME=0000:3b:00.0\n");
  tree.write(folder + "device/current_link_speed", "8.0 GT/s PCIe\n");
  tree.write(folder + "device/current_link_width", "16\n");
  tree.write(folder + "device/max_link_speed", "16.0 GT/s PCIe\n");
  tree.write(folder + "device/max_link_width", "16\n");
  tree.write(folder + "device/numa_node", "1\n");
  tree.write(folder + "ports/1/state", "4: ACTIVE\n");
  tree.write(folder + "ports/1/rate", "100 Gb/sec (4X EDR)\n");
  tree.write(folder + "ports/1/gid_attrs/ndevs/0", "ens3f0np0\n");
  const std::string interface = "/sys/class/net/ens3f0np0/";
  tree.write(interface + "flags", "0x1003\n");
  tree.write(interface + "ifindex", "4\n");
  tree.write(interface + "type", "1\n");
  tree.write(interface + "carrier", "1\n");
  tree.write(interface + "mtu", "9000\n");
  tree.write(interface + "speed", "100000\n");
  for (const char* module : {"ib_core", "ib_uverbs", "rdma_cm", "rdma_ucm"}) {
    tree.write(std::string("/sys/module/") + module + "/initstate", "live\n");
  }
  tree.write("/dev/infiniband/uverbs0", "");
  tree.write("/dev/infiniband/rdma_cm", "");
}

RdmaDevice mlx5_device() {
  RdmaDevice device;
  device.name = "mlx5_0";
  device.firmware = "16.35.4030";
  device.max_work_requests = 32768;
  device.max_scatter_entries = 30;
  device.max_completions = 4194303;
  device.max_registration_bytes = UINT64_MAX;
  device.has_memory_windows = true;
  device.has_on_demand_paging = true;
  device.takes_dma_buf = true;
  device.data_direct.why_not = "the RDMA device has none";
  device.inline_bytes = 828;
  RdmaPort port;
  port.state = RdmaPortState::active;
  port.link_layer = RdmaLinkLayer::ethernet;
  port.active_mtu_bytes = 4096;
  port.max_mtu_bytes = 4096;
  port.max_message_bytes = std::uint64_t{1} << 30;
  port.gids = {{0, GidKind::roce_v1, GidScope::link_local, "fe80::1", 4},
               {1, GidKind::roce_v2, GidScope::link_local, "fe80::1", 4},
               {2, GidKind::roce_v1, GidScope::ipv4, "192.168.7.1", 4},
               {3, GidKind::roce_v2, GidScope::ipv4, "192.168.7.1", 4}};
  port.addresses = {"192.168.7.1", "fe80::1"};
  device.ports = {port};
  return device;
}

MachineFacts plain_machine() {
  MachineFacts machine;
  machine.system.kernel = "6.1.0-25-amd64";
  machine.system.cores = 16;
  machine.system.programs_beside = {programs_wanted.begin(), programs_wanted.end()};
  machine.memory.total_bytes = 64'000'000'000;
  machine.memory.available_bytes = 60'000'000'000;
  machine.memory.huge_pages = "madvise";
  machine.memory.shared_huge_pages = "advise";
  machine.network.interfaces = {{.name = "eth0",
                                 .index = 2,
                                 .is_up = true,
                                 .has_carrier = true,
                                 .is_ethernet = true,
                                 .mtu_bytes = 1500,
                                 .megabits_per_second = 10000,
                                 .addresses = {"10.0.0.5"}}};
  machine.network.tcp_send_bytes = 33554432;
  machine.network.tcp_receive_bytes = 33554432;
  machine.network.pipe_bytes = 1048576;
  machine.key = {
      .path = "/home/u/.config/framewire/key", .exists = true, .mode = "0600", .is_own = true, .trouble = ""};
  machine.opengl.is_installed = true;
  machine.opengl.renderer = "AMD Radeon PRO W6600";
  machine.gpu.cuda_trouble = "libcuda.so.1: cannot open shared object file";
  machine.rdma.modules = {
      {"ib_uverbs", ModuleState::loadable}, {"rdma_ucm", ModuleState::loadable}, {"rdma_rxe", ModuleState::loadable}};
  machine.rdma.has_rdma_command = true;
  return machine;
}

MachineFacts rdma_machine() {
  const FakeTree tree;
  write_mlx5(tree);
  MachineFacts machine = plain_machine();
  machine.network.interfaces = probe_network(tree.files()).interfaces;
  machine.network.interfaces.front().addresses = {"192.168.7.1"};
  machine.rdma = probe_rdma_files(tree.files(), machine.system.kernel);
  join_devices(machine.rdma, {mlx5_device()});
  return machine;
}

RdmaDevice& the_device(MachineFacts& machine) {
  return *machine.rdma.adapters.front().device;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

const Finding& find(const Findings& findings, const std::string& name) {
  static const Finding missing{.name = "missing", .value = "missing"};
  const auto found = std::ranges::find(findings, name, &Finding::name);
  return found == findings.end() ? missing : *found;
}

// ---- Connections to other machines ----

Measurement measured(double gigabytes_per_second) {
  Measurement row;
  row.count = 1000;
  row.gigabytes_per_second = gigabytes_per_second;
  row.latency_p50_us = 12.3;
  row.latency_p99_us = 45.6;
  return row;
}

Measurement failed(const std::string& trouble) {
  Measurement row;
  row.trouble = trouble;
  return row;
}

RemoteHostReport big() {
  RemoteHostReport host;
  host.target.at = {.host = "big", .port = 5290};
  host.address = "192.168.7.2";
  host.address_here = "192.168.7.1";
  host.round_trip_us = 210;
  host.auth = "psk";
  host.control = "tls1.3";
  host.program = "framewire-bench 0.1.0";
  return host;
}

RemoteHostReport fast_big() {
  RemoteHostReport host = big();
  host.links = {
      {.link = LinkKind::local,
       .not_tried = "it needs the same user on the same machine",
       .latency = {},
       .there = {},
       .back = {}},
      {.link = LinkKind::rdma,
       .not_tried = "",
       .latency = measured(0),
       .there = measured(11.5),
       .back = measured(11.6)},
      {.link = LinkKind::tcp, .not_tried = "", .latency = measured(0), .there = measured(9), .back = measured(8.5)}};
  return host;
}

}  // namespace framewire::test
