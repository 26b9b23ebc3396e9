// What the doctor knows of a machine, before it judges: plain values from the kernel's files, from system calls and
// from the libraries that were asked. Text in them comes from outside and may be anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doctor/gpu_facts.hpp"
#include "doctor/rdma_facts.hpp"

namespace framewire {

/// Whether the two links that need no hardware work, tried with small ones. The texts say what failed; empty: it works.
struct LinkFacts {
  std::string local_trouble;
  std::string tcp_trouble;
};

struct SystemFacts {
  std::string distribution;                  // "Debian GNU/Linux 12 (bookworm)"; may be empty
  std::string kernel;                        // "6.1.0-25-amd64"
  std::string container;                     // "docker", "podman", …; empty: none that shows
  std::uint32_t cores = 0;                   // that this process may run on
  std::vector<std::string> governors;        // of frequencies, each once; empty where the kernel has no choice
  std::vector<std::string> programs_beside;  // "send", "view", …
};

struct MemoryFacts {
  std::optional<std::uint64_t> total_bytes;  // nothing: not known
  std::optional<std::uint64_t> available_bytes;
  std::optional<std::uint64_t>
      group_limit_bytes;                          // the lowest of the control groups around this process; nothing: none
  std::optional<std::uint64_t> group_free_bytes;  // what the fullest of them still gives; nothing: no limit
  std::optional<std::uint64_t> lock_soft_bytes;   // RLIMIT_MEMLOCK; nothing: no limit
  std::optional<std::uint64_t> lock_hard_bytes;
  bool may_lock_all = false;      // CAP_IPC_LOCK in the first user namespace: the limit is not asked
  std::string huge_pages;         // of private memory: "always", "madvise", "never"; empty: not known
  std::string shared_huge_pages;  // of memfds: "advise", "never", …
  std::uint64_t reserved_huge_pages = 0;
  std::uint64_t free_huge_pages = 0;
  std::uint64_t huge_page_bytes = 0;
};

struct NetworkFacts {
  std::vector<NetworkInterface> interfaces;
  std::optional<std::uint64_t> tcp_receive_bytes;   // the largest that the kernel gives by itself: tcp_rmem[2]
  std::optional<std::uint64_t> tcp_send_bytes;      // tcp_wmem[2]
  std::string tcp_receive_begin = "4096 131072";    // tcp_rmem[0] and [1]: the least, and the first
  std::string tcp_send_begin = "4096 16384";        // tcp_wmem[0] and [1]
  std::optional<std::uint64_t> core_receive_bytes;  // net.core.rmem_max
  std::optional<std::uint64_t> core_send_bytes;
  std::optional<std::uint64_t> pipe_bytes;  // fs.pipe-max-size
};

struct KeyFacts {
  std::string path;
  bool exists = false;
  std::string mode;     // "0600"
  bool is_own = false;  // it belongs to this user, who alone may change its mode
  bool is_read_by_root = false;
  std::string trouble;  // the sentence that programs would end with; empty: none
};

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

}  // namespace framewire
