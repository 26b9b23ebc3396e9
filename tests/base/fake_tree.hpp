// A machine's kernel files, written by a test.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "base/system_files.hpp"
#include "tests/base/temporary_folder.hpp"

namespace framewire::test {

/// A folder that stands for /, with files below it.
class FakeTree {
 public:
  void write(const std::string& path, const std::string& text) const {
    const std::string real = folder_.path() + path;
    std::filesystem::create_directories(std::filesystem::path(real).parent_path());
    std::ofstream(real, std::ios::binary) << text;
  }
  [[nodiscard]] SystemFiles files() const { return SystemFiles(folder_.path()); }
  [[nodiscard]] std::string path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

/// A device of PCI as the kernel shows it: a folder below its bridges ("0000:3a/0000:3a:00.0": the host bridge, then
/// others), and a link to it.
inline void write_pci_device(const FakeTree& tree, const std::string& bridges, const std::string& address,
                             const std::string& numa_node) {
  const std::string folder = "/sys/devices/pci" + bridges + "/" + address;
  tree.write(folder + "/numa_node", numa_node + "\n");
  tree.write(folder + "/uevent", "PCI_SLOT_NAME=" + address + "\n");
  std::filesystem::create_directories(tree.path() + "/sys/bus/pci/devices");
  std::filesystem::create_directory_symlink("../../../.." + folder, tree.path() + "/sys/bus/pci/devices/" + address);
}

/// An RDMA device of that card, with one port.
inline void write_rdma_device(const FakeTree& tree, const std::string& name, const std::string& address,
                              const std::string& state = "4: ACTIVE") {
  const std::string folder = "/sys/class/infiniband/" + name;
  tree.write(folder + "/ports/1/state", state + "\n");
  std::filesystem::create_directory_symlink("../../../bus/pci/devices/" + address, tree.path() + folder + "/device");
}

}  // namespace framewire::test
