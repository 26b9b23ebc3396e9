#include "base/machine_identity.hpp"

#include <sys/stat.h>

#include "base/system_files.hpp"

namespace framewire {

std::string boot_id() {
  return SystemFiles().line("/proc/sys/kernel/random/boot_id").value_or("");
}

std::string network_id() {
  const std::string boot = boot_id();
  struct stat network {};
  if (boot.empty() || ::stat("/proc/thread-self/ns/net", &network) != 0) {
    return {};
  }
  return boot + ":" + std::to_string(network.st_dev) + ":" + std::to_string(network.st_ino);
}

}  // namespace framewire
