// What another program prints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace framewire {

struct ChildOutput {
  std::string text;             // of its standard output, up to 64 KiB
  std::string complaint;        // of its standard error, up to 64 KiB
  bool has_ended_well = false;  // by itself, with exit status 0
  bool is_late = false;         // it was killed at its deadline
  int exit_status = -1;         // where it ended by itself
  std::string trouble;          // why it did not end well; empty: it did
};

/// Runs `program` (a path) with `arguments` and nothing to read, and waits until it ends, `timeout_ns` at most: then it
/// is killed. It goes with this process, too, however that ends. Main thread; blocks; throws nothing.
ChildOutput child_output(const std::string& program, const std::vector<std::string>& arguments,
                         std::int64_t timeout_ns);

}  // namespace framewire
