// Runs another program and collects its output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace framewire {

struct ChildOutput {
  std::string text;             // standard output, up to 64 KiB
  std::string complaint;        // standard error, up to 64 KiB
  bool has_ended_well = false;  // it exited with status 0
  bool is_late = false;         // it was killed at its deadline
  int exit_status = -1;         // if it exited
  std::string trouble;          // why it failed; empty: it did not
};

/// Runs `program` (a path) with `arguments` and /dev/null as its input. Waits until it ends, and kills it after
/// `timeout_ns`. The kernel kills it if this process ends first. Main thread; blocks; does not throw.
ChildOutput child_output(const std::string& program, const std::vector<std::string>& arguments,
                         std::int64_t timeout_ns);

}  // namespace framewire
