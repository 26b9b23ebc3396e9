// Collects the facts about this machine: system, processes, memory, and trials of local and tcp.
#include "doctor/probe.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/wait.hpp"
#include "memory/available_memory.hpp"
#include "memory/host_block.hpp"
#include "transport/control/key_file.hpp"
#include "transport/links.hpp"

namespace framewire {

KeyFacts probe_key() {
  KeyFacts key;
  try {
    key.path = default_key_path();
    struct stat status {};
    if (::stat(key.path.c_str(), &status) == 0) {
      std::array<char, 8> mode{};
      std::snprintf(mode.data(), mode.size(), "%04o", status.st_mode & 07777U);
      key.mode = mode.data();
      key.is_own = status.st_uid == ::geteuid();
      key.is_read_by_root = ::geteuid() == 0;
    }
    key.exists = find_key(std::nullopt).has_value();
  } catch (const Error& error) {
    key.exists = true;
    key.trouble = error.what();
  }
  return key;
}

MachineFacts probe_machine() {
  const SystemFiles files;
  MachineFacts machine;
  machine.system = probe_system(files);
  machine.memory = probe_memory(files);
  probe_process(files, machine.system, machine.memory);
  machine.network = probe_network(files);
  probe_addresses(machine.network);
  probe_priorities(machine.network);
  probe_xdp(machine.network);
  machine.rdma = probe_rdma_files(files, machine.system.kernel);
  probe_rdma_devices(machine.rdma);
  machine.gpu = probe_gpu_files(files, machine.system.kernel);
  probe_cuda(files, machine.gpu);
  machine.opengl = probe_opengl(files);
  probe_render_nodes(files, machine.opengl);
  machine.links = probe_links();
  machine.key = probe_key();
  return machine;
}

// ---- The machine itself, from the kernel's files ----

namespace {

/// The kind of container, by the marks that each kind leaves.
std::string container_kind(const SystemFiles& files) {
  if (const auto named = files.line("/run/systemd/container"); named && !named->empty()) {
    return *named;
  }
  if (files.exists("/.dockerenv")) {
    return "docker";
  }
  if (files.exists("/run/.containerenv")) {
    return "podman";
  }
  // A container manager sets "container" for the first process.
  const auto environment = files.text("/proc/1/environ").value_or("");
  constexpr std::string_view mark = "container=";
  for (std::size_t at = 0; at < environment.size();) {
    const std::size_t end = std::min(environment.find('\0', at), environment.size());
    const std::string_view entry = std::string_view(environment).substr(at, end - at);
    if (entry.starts_with(mark) && entry.size() > mark.size()) {
      return std::string(entry.substr(mark.size()));
    }
    at = end + 1;
  }
  return files.exists("/var/run/secrets/kubernetes.io") ? "kubernetes" : "";
}

std::vector<std::string> governors(const SystemFiles& files) {
  std::vector<std::string> found;
  for (const std::string& name : files.names("/sys/devices/system/cpu")) {
    const auto governor = files.line("/sys/devices/system/cpu/" + name + "/cpufreq/scaling_governor");
    if (governor && !governor->empty() && std::ranges::find(found, *governor) == found.end()) {
      found.push_back(*governor);
    }
  }
  return found;
}

std::optional<std::uint64_t> limit_bytes(rlim_t limit) {
  return limit == RLIM_INFINITY ? std::nullopt : std::optional<std::uint64_t>(limit);
}

}  // namespace

std::string own_folder(const SystemFiles& files) {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = ::readlink(files.real_path("/proc/self/exe").c_str(), path.data(), path.size());
  const std::string_view whole(path.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return std::string(whole.substr(0, whole.rfind('/') + 1));
}

SystemFacts probe_system(const SystemFiles& files) {
  SystemFacts system;
  system.distribution = value_of(files.text("/etc/os-release").value_or(""), "PRETTY_NAME").value_or("");
  system.kernel = files.line("/proc/sys/kernel/osrelease").value_or("");
  system.container = container_kind(files);
  system.governors = governors(files);
  return system;
}

void probe_process(const SystemFiles& files, SystemFacts& system, MemoryFacts& memory) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    system.cores = static_cast<std::uint32_t>(CPU_COUNT(&set));
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
    memory.lock_soft_bytes = limit_bytes(limit.rlim_cur);
    memory.lock_hard_bytes = limit_bytes(limit.rlim_max);
  }
  const std::string folder = own_folder(files);
  for (const std::string_view name : programs_wanted) {
    const std::string program = (name.starts_with("rd") ? "" : "framewire-") + std::string(name);
    if (!folder.empty() && ::access((folder + program).c_str(), X_OK) == 0) {
      system.programs_beside.emplace_back(name);
    }
  }
}

// ---- Memory, from the kernel's files: its size, its pages, and what the control groups leave ----

namespace {

/// The bracketed word of "always [madvise] never".
std::string chosen_word(const std::optional<std::string>& line) {
  if (!line) {
    return "";
  }
  const std::size_t open = line->find('[');
  const std::size_t close = line->find(']');
  return open != std::string::npos && close != std::string::npos && open < close
             ? line->substr(open + 1, close - open - 1)
             : "";
}

/// CAP_IPC_LOCK counts only in the initial user namespace, whose ids map onto themselves.
bool may_lock_all(const SystemFiles& files) {
  constexpr unsigned cap_ipc_lock = 14;
  const auto effective = value_of(files.text("/proc/self/status").value_or(""), "CapEff");
  const auto map = files.line("/proc/self/uid_map");
  if (!effective || !map || !map->starts_with("0 ") || !map->ends_with(" 4294967295")) {
    return false;
  }
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(effective->data(), effective->data() + effective->size(), bits, 16);
  return error == std::errc{} && (bits >> cap_ipc_lock & 1U) != 0;
}

}  // namespace

MemoryFacts probe_memory(const SystemFiles& files) {
  MemoryFacts memory;
  const std::string meminfo = files.text("/proc/meminfo").value_or("");
  const auto number = [&](std::string_view name) { return leading_number(value_of(meminfo, name).value_or("")); };
  constexpr std::uint64_t kilobyte = 1024;  // the unit of /proc/meminfo
  const auto bytes = [&](std::string_view name) {
    const auto kilobytes = number(name);
    return kilobytes ? std::optional(*kilobytes * kilobyte) : std::nullopt;
  };
  memory.total_bytes = bytes("MemTotal");
  memory.available_bytes = bytes("MemAvailable");
  memory.reserved_huge_pages = number("HugePages_Total").value_or(0);
  memory.free_huge_pages = number("HugePages_Free").value_or(0);
  memory.huge_page_bytes = bytes("Hugepagesize").value_or(0);
  const AvailableMemory available = available_memory(files);
  memory.group_limit_bytes = available.group_limit_bytes;
  memory.group_free_bytes = available.group_free_bytes;
  memory.huge_pages = chosen_word(files.line("/sys/kernel/mm/transparent_hugepage/enabled"));
  memory.shared_huge_pages = chosen_word(files.line("/sys/kernel/mm/transparent_hugepage/shmem_enabled"));
  memory.may_lock_all = may_lock_all(files);
  return memory;
}

// ---- Links: small trials of what local and tcp need ----

namespace {

constexpr std::int64_t connect_timeout_ns = 2 * ns_per_s;

/// Connects to a listener of its own; the system chooses the address. Throws Error.
void connect_to_itself(int family, const sockaddr* wanted, socklen_t wanted_bytes) {
  const FileDescriptor listener(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_storage address{};
  socklen_t bytes = sizeof address;
  if (!listener.valid() || ::bind(listener.get(), wanted, wanted_bytes) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &bytes) != 0) {
    throw Error::from_errno("listen", errno);
  }
  const FileDescriptor dialler(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int result =
      dialler.valid() ? ::connect(dialler.get(), reinterpret_cast<const sockaddr*>(&address), bytes) : -1;
  if (result != 0 && errno != EINPROGRESS) {
    throw Error::from_errno("connect", errno);
  }
  if (!wait_for(listener.get(), POLLIN, monotonic_ns() + connect_timeout_ns)) {
    throw Error::failed("a connection did not arrive within 2 s; is a firewall rule on the loopback interface?");
  }
}

void try_local() {
  HostBlock::map_read_only(FileDescriptor(::dup(HostBlock::create("a page", 4096)->memfd())), 4096);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;  // with only the family, the kernel chooses an abstract name
  connect_to_itself(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address.sun_family);
}

void try_tcp() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  connect_to_itself(AF_INET, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

template <typename Function>
std::string trouble_of(Function attempt) {
  try {
    attempt();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

LinkFacts probe_links() {
  LinkFacts facts{.local_trouble = trouble_of(try_local), .tcp_trouble = trouble_of(try_tcp)};
  for (const LinkProvider* const link : link_providers()) {
    const LinkTraits& its = link->traits();
    if (its.kind != LinkKind::local && its.kind != LinkKind::tcp && its.kind != LinkKind::rdma) {
      facts.others.push_back({.link = its.kind, .missing = link->is_available() ? "" : std::string(its.missing)});
    }
  }
  return facts;
}

}  // namespace framewire
