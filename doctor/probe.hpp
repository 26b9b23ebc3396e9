// Collects the facts about this machine. Each function reads what it needs and does not throw: unknown facts stay
// empty.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/system_files.hpp"
#include "doctor/facts.hpp"

namespace framewire {

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
/// Queries libcuda.so.1. With an NVIDIA driver this can take a second.
void probe_cuda(GpuFacts& gpu);
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

}  // namespace framewire
