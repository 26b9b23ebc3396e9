// The facts from which the doctor derives its findings: plain values about this machine, from the kernel's files,
// system calls and libraries, and about another machine and the route to it. Texts in them come from outside and may
// contain anything.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/pci_route.hpp"
#include "memory/cuda/device.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/link.hpp"
#include "transport/rdma/devices.hpp"

namespace framewire {

// ---- GPUs, for CUDA and for OpenGL ----

/// An NVIDIA card as its kernel driver lists it.
struct NvidiaCard {
  std::string address;  // "0000:65:00.0"
  std::string model;
};

/// A GPU as CUDA lists it.
struct CudaDeviceFacts {
  CudaDeviceInfo info;
  PciRoute route{};
};

struct GpuFacts {
  std::string kernel_driver;      // "550.54.14"; empty: no NVIDIA driver
  std::vector<NvidiaCard> cards;  // by the kernel driver
  bool has_peermem = false;       // the module nvidia_peermem
  std::string cuda_trouble;       // why libcuda.so.1 cannot be used; empty: it can
  std::string cuda_version;       // the driver's: "12.4"
  std::vector<CudaDeviceFacts> devices;
};

/// The output of framewire-doctor-gl.
struct OpenGlFacts {
  bool is_installed = false;  // the helper is installed beside this program
  std::string trouble;        // why there is no OpenGL 4.5; empty: there is
  std::string vendor;
  std::string renderer;
  std::string version;
  bool is_software = false;
  bool has_render_node = false;    // /dev/dri/renderD…: a GPU with a driver
  bool may_use_node = false;       // this user may open it
  bool has_pinned_memory = false;  // GL_AMD_pinned_memory: frames without a copy
};

// ---- RDMA: devices by verbs and by sysfs, and what they need (interfaces, modules, device files) ----

/// How an Ethernet port treats priorities (data centre bridging, IEEE 802.1Q).
struct InterfacePriorities {
  std::uint8_t lossless = 0;                                              // bit n: priority n has flow control (PFC)
  std::vector<std::pair<std::uint8_t, std::uint8_t>> dscp_to_priority{};  // as `dcb app` has it
};

/// What the kernel says of an interface's driver and AF_XDP (since Linux 6.3).
struct XdpFeatures {
  bool has_native = false;  // a program may send frames to an AF_XDP socket before the kernel has made its own of them
  bool has_zero_copy = false;
};

/// A network interface by /sys/class/net and getifaddrs(). Without /sys by getifaddrs() alone.
struct NetworkInterface {
  std::string name;
  std::uint32_t index = 0;
  bool is_up = false;
  bool is_loopback = false;
  bool has_carrier = false;
  bool is_ethernet = false;
  bool has_card = false;             // hardware, real or virtual; not a bridge or a tunnel
  bool has_default_route = false;    // of IPv4 or IPv6
  std::uint32_t mtu_bytes = 0;       // 0: not known
  std::uint32_t receive_queues = 0;  // 0: not known
  std::string driver{};              // by ethtool; empty: not known
  std::optional<XdpFeatures> xdp{};  // nothing: the kernel does not say
  std::optional<std::uint32_t> megabits_per_second{};
  std::vector<std::string> addresses{};             // IPv4, and IPv6 without link-local ones
  std::optional<InterfacePriorities> priorities{};  // nothing: its driver supports none
};

/// Speed and width of a PCI Express link, either current or maximum.
struct PciLink {
  double gigatransfers = 0;  // per second and lane; 0: unknown
  std::uint32_t lanes = 0;

  /// Data rate in one direction, in Gb/s: 8b/10b coding up to generation 2 (5 GT/s), 128b/130b above (PCI Express Base
  /// Specification, 4.2). Packet headers take another tenth.
  [[nodiscard]] double gigabits_per_second() const noexcept {
    return gigatransfers * lanes * (gigatransfers > 5.0 ? 128.0 / 130.0 : 0.8);
  }
};

struct PciPlace {
  std::string address;  // "0000:3b:00.0"
  PciLink current;
  PciLink most;
  bool is_virtual = false;  // a virtual function (SR-IOV)
  PciRoute route{};
};

/// A port of /sys/class/infiniband/DEVICE/ports.
struct RdmaPortPlace {
  std::uint8_t number = 1;
  std::string state;               // "ACTIVE"
  double gigabits_per_second = 0;  // 0: unknown
  std::string interface;           // "ens3f0np0"; empty: not known
};

/// One RDMA device, by sysfs and by verbs.
struct RdmaAdapter {
  std::string name;
  std::string driver;            // "mlx5_core"; empty for a software device
  std::string board;             // "MT_0000000008"
  std::optional<PciPlace> pci;   // nothing for a software device
  std::optional<int> numa_node;  // nothing: the machine has only one, or does not say
  std::vector<RdmaPortPlace> ports;
  std::optional<RdmaDevice> device;  // by verbs; nothing: libibverbs does not list it
};

/// unknown: the kernel's list of modules is not available, as in a container.
enum class ModuleState { unknown, absent, loadable, loaded, built_in };

/// A network card that supports RDMA but has no RDMA device.
struct DormantCard {
  std::string address;                        // "0000:3b:00.0"
  std::string driver;                         // its network driver: "mlx5_core"
  std::string module;                         // its RDMA driver: "mlx5_ib"
  ModuleState state = ModuleState::loadable;  // of that
};

struct KernelModule {
  std::string name;
  ModuleState state = ModuleState::unknown;
};

/// A file below /dev/infiniband.
struct DeviceFile {
  std::string path;
  std::string mode;        // "0600"
  bool is_usable = false;  // this user can read and write it
};

struct RdmaFacts {
  std::vector<RdmaAdapter> adapters;
  std::vector<DormantCard> dormant_cards;
  std::vector<KernelModule> modules;
  std::vector<DeviceFile> files;
  std::string list_trouble;       // why libibverbs listed nothing
  std::string manager_trouble;    // why librdmacm cannot connect; empty: it can, or there is no device
  bool has_rdma_command = false;  // `rdma` of iproute2 is installed
};

/// A link of the list that the doctor neither tries nor examines: it knows what the link says of itself.
struct OtherLink {
  LinkKind link{};
  std::string missing;  // what this machine lacks for it: "no RDMA device"; empty: nothing
};

/// Whether the two links that need no hardware work, by a small trial of each. The texts say what failed; empty: it
/// works. rdma has facts of its own.
struct LinkFacts {
  std::string local_trouble;
  std::string tcp_trouble;
  std::vector<OtherLink> others{};  // all other links of the list, best first
};

/// The programs that belong together. "send" is framewire-send; names with rd are whole.
inline constexpr std::array<std::string_view, 7> programs_wanted = {"send",   "view",   "bench", "key",
                                                                    "rdsend", "rdrecv", "rdpipe"};

struct SystemFacts {
  std::string distribution;                  // "Debian GNU/Linux 12 (bookworm)"; may be empty
  std::string kernel;                        // "6.1.0-25-amd64"
  std::string container;                     // "docker", "podman", …; empty: none detected
  std::uint32_t cores = 0;                   // cores that this process may run on
  std::vector<std::string> governors;        // frequency governors, each once; empty if the kernel offers no choice
  std::vector<std::string> programs_beside;  // of programs_wanted
};

struct MemoryFacts {
  std::optional<std::uint64_t> total_bytes;  // nothing: not known
  std::optional<std::uint64_t> available_bytes;
  std::optional<std::uint64_t> group_limit_bytes;  // the lowest of its control groups; nothing: none
  std::optional<std::uint64_t> group_free_bytes;   // the least that any of them has left; nothing: no limit
  std::optional<std::uint64_t> lock_soft_bytes;    // RLIMIT_MEMLOCK; nothing: no limit
  std::optional<std::uint64_t> lock_hard_bytes;
  bool may_lock_all = false;      // CAP_IPC_LOCK in the initial user namespace: the limit does not apply
  std::string huge_pages;         // of private memory: "always", "madvise", "never"; empty: not known
  std::string shared_huge_pages;  // of memfds: "advise", "never", …
  std::uint64_t reserved_huge_pages = 0;
  std::uint64_t free_huge_pages = 0;
  std::uint64_t huge_page_bytes = 0;
};

struct NetworkFacts {
  std::vector<NetworkInterface> interfaces;
  std::optional<std::uint64_t> tcp_receive_bytes;   // the limit of automatic sizing: tcp_rmem[2]
  std::optional<std::uint64_t> tcp_send_bytes;      // tcp_wmem[2]
  std::string tcp_receive_begin = "4096 131072";    // tcp_rmem[0] and [1]: minimum and initial size
  std::string tcp_send_begin = "4096 16384";        // tcp_wmem[0] and [1]
  std::optional<std::uint64_t> core_receive_bytes;  // net.core.rmem_max
  std::optional<std::uint64_t> core_send_bytes;
  std::optional<std::uint64_t> pipe_bytes;  // fs.pipe-max-size
};

struct KeyFacts {
  std::string path;
  bool exists = false;
  std::string mode;     // "0600"
  bool is_own = false;  // it belongs to this user; only the owner may change its mode
  bool is_read_by_root = false;
  std::string trouble;  // the error that programs would end with; empty: none
};

// ---- This machine ----

struct MachineFacts {
  LinkFacts links;
  SystemFacts system;
  MemoryFacts memory;
  NetworkFacts network;
  KeyFacts key;
  RdmaFacts rdma;
  GpuFacts gpu;
  OpenGlFacts opengl;
};

// ---- Another machine, and the route to it ----

/// The other machine as the command line names it.
struct HostTarget {
  HostPort at;
  std::optional<std::string> key_file;  // --key
  bool insecure = false;
  std::string timeout;  // --timeout as text; empty: not given
};

/// The first obstacle on the way to a bench server.
enum class HostFault {
  none,
  unknown_name,
  nothing_listens,
  silent,  // no answer, not even a refusal
  no_route,
  bad_key_here,  // a key file that cannot be used
  no_key_here,
  key_refused,  // the two keys differ, or only one side has one
  not_framewire,
  sender,         // framewire send
  viewer,         // framewire view --listen
  version,        // no common version of the control protocol
  busy,           // it serves another client
  no_bench_here,  // framewire-bench is not installed beside this program
  other,
};

/// One row of framewire bench, or why there is none.
struct Measurement {
  std::uint64_t count = 0;  // messages; 0: there is no row
  double gigabytes_per_second = 0;
  double latency_p50_us = 0;
  double latency_p99_us = 0;
  std::string trouble;   // why there is no row; also empty if it was not tried
  bool is_late = false;  // it reached its time limit
  bool has_lost_peer = false;

  [[nodiscard]] bool is_done() const noexcept { return count > 0; }
};

/// The measurements of one link.
struct LinkMeasurements {
  LinkKind link = LinkKind::tcp;
  std::string not_tried;  // why; empty: it was
  Measurement latency;    // small messages, from there to here
  Measurement there;      // a burst, from here
  Measurement back;       // a burst, from there

  [[nodiscard]] bool works() const noexcept { return there.is_done() && back.is_done(); }
  /// A session was established over it. `--transport auto` decides by this.
  [[nodiscard]] bool connects() const noexcept { return latency.is_done() || there.is_done() || back.is_done(); }
};

struct RemoteHostReport {
  HostTarget target;
  HostFault fault = HostFault::none;
  std::string trouble;                  // the error message that programs would end with
  std::string address;                  // the address reached, without the port; empty: none
  std::string address_here;             // the local address of that connection
  bool is_own_address = false;          // `address` is this machine's
  bool is_this_machine = false;         // reached through this user's Unix socket
  std::optional<double> round_trip_us;  // of TCP's handshake
  std::string auth;                     // "psk", "user", "none"
  std::string control;                  // "tls1.3", "unix", "plain"
  std::string program;                  // the program that answered: "framewire-bench 0.1.0"
  std::string left;                     // if it disappeared during the measurements: what the doctor met then
  std::vector<LinkMeasurements> links;
};

}  // namespace framewire
