// Fake machines, as facts and as kernel files, and fake connections to other machines.
#pragma once

#include <string>

#include "doctor/check.hpp"
#include "doctor/facts.hpp"
#include "tests/base/fake_tree.hpp"

namespace framewire::test {

/// A ConnectX-5 with one 100 Gb/s port as in sysfs, with its interface.
void write_mlx5(const FakeTree& tree);

/// The same device as verbs report it: an active port with four GIDs. The fourth is the best.
RdmaDevice mlx5_device();

/// A healthy machine with a working mlx5.
MachineFacts rdma_machine();

/// A healthy machine without RDMA.
MachineFacts plain_machine();

/// The device of rdma_machine().
RdmaDevice& the_device(MachineFacts& machine);

bool has(const std::string& text, std::string_view part);

/// The finding with that name. If there is none, a finding with the value "missing".
const Finding& find(const Findings& findings, const std::string& name);

// ---- Connections to other machines ----

/// A row that succeeded.
Measurement measured(double gigabytes_per_second);
/// A row that failed.
Measurement failed(const std::string& trouble);

/// Host "big" with the shared key and a bench server. No links are measured yet.
RemoteHostReport big();

/// The same, with working rdma and tcp.
RemoteHostReport fast_big();

}  // namespace framewire::test
