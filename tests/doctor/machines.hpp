// Machines that we do not have, as facts, and as files of a kernel.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "base/system_files.hpp"
#include "doctor/facts.hpp"
#include "doctor/finding.hpp"
#include "tests/base/temporary_folder.hpp"

namespace framewire::test {

/// Files below a folder that stands for /.
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

/// A ConnectX-5 with one 100 Gb/s port as sysfs shows it, beside its interface.
void write_mlx5(const FakeTree& tree);

/// The same device as verbs have it: an active port with four GIDs, the best of which is the fourth.
RdmaDevice mlx5_device();

/// A machine where all is well, with an mlx5 that works.
MachineFacts rdma_machine();

/// A machine where all is well, without RDMA.
MachineFacts plain_machine();

/// The device of rdma_machine().
RdmaDevice& the_device(MachineFacts& machine);

bool has(const std::string& text, std::string_view part);

/// The finding of that name; one with the value "missing" when there is none.
const Finding& find(const Findings& findings, const std::string& name);

}  // namespace framewire::test
