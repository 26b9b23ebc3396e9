// Collects the facts about this machine, and about another one. Each function reads what it needs and does not throw:
// unknown facts stay empty.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/system_files.hpp"
#include "doctor/child_output.hpp"
#include "doctor/facts.hpp"

namespace framewire {

// ---- This machine ----

// From the kernel's files alone: tests can give them another machine's files.
SystemFacts probe_system(const SystemFiles& files);
MemoryFacts probe_memory(const SystemFiles& files);
/// With the interfaces of /sys/class/net, without their addresses.
NetworkFacts probe_network(const SystemFiles& files);
/// The adapters of /sys/class/infiniband without what verbs know of them, modules and device files.
RdmaFacts probe_rdma_files(const SystemFiles& files, const std::string& kernel);
/// The NVIDIA driver and its cards, without CUDA.
GpuFacts probe_gpu_files(const SystemFiles& files, const std::string& kernel);
/// The state of one module, by the kernel's list of modules and by what is loaded.
ModuleState module_state(const SystemFiles& files, const std::string& kernel, const std::string& module);

/// Which priorities of Ethernet cards have flow control, and which packets use them. Any thread; waits for the kernel
/// only.
void probe_priorities(NetworkFacts& network);
/// The drivers of Ethernet interfaces, and what they can do for AF_XDP. Any thread; waits for the kernel only.
void probe_xdp(NetworkFacts& network);
/// Parses a part of the kernel's answer (NETDEV_CMD_DEV_GET of the generic netlink family "netdev"). Returns false when
/// it was the last part.
bool read_xdp_features(std::span<const std::byte> answer, NetworkFacts& network);
/// Parses the kernel's answer (RTM_GETDCB with DCB_CMD_IEEE_GET); nothing if the driver supports no priorities.
std::optional<InterfacePriorities> read_priorities(std::span<const std::byte> answer);

// By asking this machine: system calls, libraries and trials.
LinkFacts probe_links();
KeyFacts probe_key();
/// RLIMIT_MEMLOCK, cores, and the programs in this program's folder.
void probe_process(const SystemFiles& files, SystemFacts& system, MemoryFacts& memory);
/// Adds the addresses, and the interfaces that /sys does not show.
void probe_addresses(NetworkFacts& network);
/// Adds what libibverbs and librdmacm know, joined to the adapters by name.
void probe_rdma_devices(RdmaFacts& rdma);
/// Queries libcuda.so.1. With an NVIDIA driver this can take a second. `files`: where its GPUs are on the PCI bus.
void probe_cuda(const SystemFiles& files, GpuFacts& gpu);
/// Runs framewire-doctor-gl from this program's folder, 10 s at most.
OpenGlFacts probe_opengl(const SystemFiles& files);
/// Whether this user may render on a GPU, by /dev/dri.
void probe_render_nodes(const SystemFiles& files, OpenGlFacts& opengl);

/// All of the above, of this machine.
MachineFacts probe_machine();

/// Joins the devices of verbs to the adapters of sysfs by name. Devices that sysfs does not have come last.
void join_devices(RdmaFacts& rdma, std::vector<RdmaDevice> devices);
/// Parses the JSON output of framewire-doctor-gl. `has_ended_well`: its exit status was 0.
OpenGlFacts parse_opengl_output(const std::string& output, bool has_ended_well);

/// The folder of this program, with a slash at the end. Empty if the system does not say. Then no program may be run
/// from there: an empty folder would mean the current one, which anybody may control.
std::string own_folder(const SystemFiles& files = SystemFiles());

// ---- Whether an RDMA port can carry frames ----

/// The first fault of a port that a session would meet.
enum class PortFault {
  none,
  no_connections,  // neither InfiniBand, RoCE nor iWARP
  no_queue_pair,
  waits_for_subnet_manager,
  being_set_up,  // by the subnet manager
  down,
  no_gid,
  no_address,     // of its network interface, by which rdma_cm finds a port
  other_network,  // its address is in another network namespace
};

/// A port with its interface, GID and address. A value that points into the facts.
struct RdmaPortView {
  const RdmaAdapter* adapter = nullptr;
  const RdmaPort* port = nullptr;
  double gigabits_per_second = 0;               // 0: unknown
  const NetworkInterface* base = nullptr;       // the one that sysfs names; nullptr: not known
  const NetworkInterface* interface = nullptr;  // the one with the address: `base` or a VLAN on it; nullptr: not known
  const RdmaGid* gid = nullptr;                 // the one to connect with; nullptr: there is none
  std::string address{};                        // the one that a peer dials; empty: none, or rdma_cm did not answer
  PortFault fault = PortFault::none;
};

/// Collects what belongs to the port. The result points into the arguments.
RdmaPortView view_port(const RdmaAdapter& adapter, const RdmaPort& port, const NetworkFacts& network);

/// "the port is down", to be used within a sentence; empty for none.
std::string describe(PortFault fault);

/// The port that carries frames, or why there is none.
struct UsableRdmaPort {
  std::optional<RdmaPortView> best;  // the fastest usable port
  std::string why_not;               // if there is none; to be used within a sentence
  [[nodiscard]] bool is_usable() const noexcept { return best.has_value(); }
};

/// The result points into `machine`. `lock_is_enough`: a viewer's ring can be pinned (can_lock() of check.hpp).
UsableRdmaPort find_usable_rdma_port(const MachineFacts& machine, bool lock_is_enough);

// ---- Another machine: which program answers there, and how fast the links to it are ----

/// Resolves the host, connects, authenticates, and learns which program is there. Takes a few seconds at most. Does not
/// throw: the report contains what went wrong.
RemoteHostReport greet_host(const HostTarget& target);

/// What is measured in one run of framewire bench.
struct HostRow {
  LinkKind link = LinkKind::tcp;
  bool is_latency = false;
  bool is_reverse = false;
};

/// The arguments of framewire-bench for it.
std::vector<std::string> bench_arguments(const HostTarget& target, const HostRow& row);
/// Parses the program's output, which is untrusted input. A row of another kind does not count.
Measurement read_bench_output(const ChildOutput& output, const HostRow& row);

/// Runs one row. Tests provide their own.
using RunRow = std::function<Measurement(const HostRow& row)>;
/// Runs framewire-bench from this program's folder, 20 s at most. `progress` is called before each row.
RunRow bench_runner(const HostTarget& target, std::function<void(const HostRow&)> progress);

/// Measures every link that `wanted` allows, in both directions. A link that does not connect is not tried again.
/// `is_there` tells whether the server still answers: "" or what is met there instead.
void measure_links(RemoteHostReport& host, const MachineFacts& machine, std::optional<LinkKind> wanted,
                   const RunRow& run, const std::function<std::string()>& is_there);

}  // namespace framewire
