#include "doctor/probe.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "base/error.hpp"
#include "transport/control/key_file.hpp"

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
  machine.rdma = probe_rdma_files(files, machine.system.kernel);
  probe_rdma_devices(machine.rdma);
  machine.gpu = probe_gpu_files(files, machine.system.kernel);
  probe_cuda(machine.gpu);
  machine.opengl = probe_opengl(files);
  probe_render_nodes(files, machine.opengl);
  machine.links = probe_links();
  machine.key = probe_key();
  return machine;
}

}  // namespace framewire
