#include "bench/xdp/capabilities.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/error.hpp"

namespace framewire {

namespace {

#ifndef CAP_BPF
constexpr int CAP_BPF = 39;  // Linux 5.8
#endif

struct Capability {
  int number;
  std::string_view name;
};

constexpr std::array capabilities{
    Capability{CAP_NET_ADMIN, "cap_net_admin"},
    Capability{CAP_NET_RAW, "cap_net_raw"},
    Capability{CAP_BPF, "cap_bpf"},
    Capability{CAP_IPC_LOCK, "cap_ipc_lock"},
    Capability{CAP_SYS_ADMIN, "cap_sys_admin"},
};
/// Of the XDP sockets at both ends of a cable. The usual limit on locked memory is 8 MiB.
constexpr rlim_t locked_bytes = rlim_t{32} << 20;

bool is_needed(const Capability& capability, bool makes_cable) noexcept {
  if (capability.number == CAP_IPC_LOCK) {
    rlimit limit{};
    return ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur < locked_bytes;
  }
  return makes_cable || capability.number != CAP_SYS_ADMIN;
}

/// The effective ones of the calling thread, a bit each.
std::uint64_t effective() noexcept {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) {
    return 0;
  }
  return std::uint64_t{data[1].effective} << 32 | data[0].effective;
}

}  // namespace

void require_capabilities(bool makes_cable) {
  const std::uint64_t own = effective();
  std::vector<std::string_view> all;
  std::vector<std::string_view> missing;
  for (const Capability& one : capabilities) {
    all.push_back(one.name);
    if (is_needed(one, makes_cable) && (own >> one.number & 1) == 0) {
      missing.push_back(one.name);
    }
  }
  if (missing.empty()) {
    return;
  }
  std::error_code none;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", none);
  throw Error::refused(fmt::format("this needs {}; run it as root, or once: sudo setcap {}+ep {}",
                                   fmt::join(missing, ", "), fmt::join(all, ","),
                                   program.empty() ? "framewire-bench" : program.string()));
}

}  // namespace framewire
