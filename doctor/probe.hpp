// Where the doctor's facts come from. Each reads what it needs and throws nothing: what cannot be known stays empty.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/system_files.hpp"
#include "doctor/facts.hpp"

namespace framewire {

// By the kernel's files alone: these can be shown another machine.
SystemFacts probe_system(const SystemFiles& files);
MemoryFacts probe_memory(const SystemFiles& files);
/// With the interfaces that /sys/class/net lists, without their addresses.
NetworkFacts probe_network(const SystemFiles& files);
/// The adapters that /sys/class/infiniband lists, without what verbs say of them, modules and device files.
RdmaFacts probe_rdma_files(const SystemFiles& files, const std::string& kernel);
/// The NVIDIA driver and its cards, without CUDA.
GpuFacts probe_gpu_files(const SystemFiles& files, const std::string& kernel);
/// For one module, by the kernel's list of modules and by what is loaded.
ModuleState module_state(const SystemFiles& files, const std::string& kernel, const std::string& module);

/// Which priorities of Ethernet cards have flow control, and which packets go by them. Any thread; waits for the kernel
/// alone.
void probe_priorities(NetworkFacts& network);
/// What the kernel has answered (RTM_GETDCB with DCB_CMD_IEEE_GET); nothing where the driver knows of no priorities.
std::optional<InterfacePriorities> read_priorities(std::span<const std::byte> answer);

// By asking this machine.
LinkFacts probe_links();
KeyFacts probe_key();
/// RLIMIT_MEMLOCK, cores and the programs beside this one.
void probe_process(const SystemFiles& files, SystemFacts& system, MemoryFacts& memory);
/// Adds the interfaces that /sys does not show, too.
void probe_addresses(NetworkFacts& network);
/// What libibverbs and librdmacm say, joined to the adapters by name.
void probe_rdma_devices(RdmaFacts& rdma);
/// Opens libcuda.so.1 and asks it; where there is an NVIDIA driver this can take a second.
void probe_cuda(GpuFacts& gpu);
/// Runs framewire-doctor-gl beside this program, for 10 s at most.
OpenGlFacts probe_opengl(const SystemFiles& files);
/// Whether there is a GPU that this user may draw on, by /dev/dri.
void probe_render_nodes(const SystemFiles& files, OpenGlFacts& opengl);

/// All of the above, of this machine.
MachineFacts probe_machine();

/// Adds verbs' devices to the adapters of sysfs by their names; those that sysfs does not have stand at the end.
void join_devices(RdmaFacts& rdma, std::vector<RdmaDevice> devices);
/// What the helper printed (JSON) as facts; its exit status says whether it failed.
OpenGlFacts parse_opengl_output(const std::string& output, bool has_ended_well);

/// Where this program lies, with a slash at the end; empty when the system does not say, and then nothing may be taken
/// to lie beside it: the current folder is anybody's.
std::string own_folder(const SystemFiles& files = SystemFiles());

}  // namespace framewire
