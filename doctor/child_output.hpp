// What another program prints.
#pragma once

#include <cstdint>
#include <string>

namespace framewire {

struct ChildOutput {
  std::string text;             // of its standard output, up to 64 KiB
  bool has_ended_well = false;  // by itself, with exit status 0
  std::string trouble;          // why it did not; empty: it did
};

/// Runs `program` (a path) without arguments and with nothing to read, and waits until it ends, `timeout_ns` at most:
/// then it is killed. Blocks; throws nothing.
ChildOutput child_output(const std::string& program, std::int64_t timeout_ns);

}  // namespace framewire
