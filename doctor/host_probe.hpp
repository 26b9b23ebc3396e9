// Asking another machine: who answers there, and how fast the links to it are.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "doctor/child_output.hpp"
#include "doctor/facts.hpp"
#include "doctor/host_facts.hpp"

namespace framewire {

/// Finds the host, connects, authenticates, and hears which program is there; takes a few seconds at most. Throws
/// nothing: what goes wrong stands in the facts.
RemoteHostReport greet_host(const HostTarget& target);

/// What is measured in one run of framewire bench.
struct HostRow {
  LinkKind link = LinkKind::tcp;
  bool is_latency = false;
  bool is_reverse = false;
};

/// The arguments of framewire-bench for it.
std::vector<std::string> bench_arguments(const HostTarget& target, const HostRow& row);
/// What that printed, which is input: a row of another kind is none.
Measurement read_bench_output(const ChildOutput& output, const HostRow& row);

/// Runs one row; those of tests are made up.
using RunRow = std::function<Measurement(const HostRow& row)>;
/// By framewire-bench beside this program, which has 20 s for it. `progress` is told before each.
RunRow bench_runner(const HostTarget& target, std::function<void(const HostRow&)> progress);

/// Measures every link that `wanted` leaves, both ways; what cannot be had is not tried twice. `is_there` says whether
/// the server still answers: "" or what is met there.
void measure_links(RemoteHostReport& host, const MachineFacts& machine, std::optional<LinkKind> wanted,
                   const RunRow& run, const std::function<std::string()>& is_there);

}  // namespace framewire
