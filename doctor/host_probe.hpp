// Probes another machine: which program answers there, and how fast the links to it are.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "doctor/child_output.hpp"
#include "doctor/facts.hpp"
#include "doctor/host_facts.hpp"

namespace framewire {

/// Resolves the host, connects, authenticates, and learns which program is there. Takes a few seconds at most. Does not
/// throw: the report contains what went wrong.
RemoteHostReport greet_host(const HostTarget& target);

/// What is measured in one run of framewire bench.
struct HostRow {
  LinkKind link = LinkKind::tcp;
  bool is_latency = false;
  bool is_reverse = false;
};

/// The arguments of framewire-bench for it.
std::vector<std::string> bench_arguments(const HostTarget& target, const HostRow& row);
/// Parses the program's output, which is untrusted input. A row of another kind does not count.
Measurement read_bench_output(const ChildOutput& output, const HostRow& row);

/// Runs one row. Tests provide their own.
using RunRow = std::function<Measurement(const HostRow& row)>;
/// Runs framewire-bench from this program's folder, 20 s at most. `progress` is called before each row.
RunRow bench_runner(const HostTarget& target, std::function<void(const HostRow&)> progress);

/// Measures every link that `wanted` allows, in both directions. A link that does not connect is not tried again.
/// `is_there` tells whether the server still answers: "" or what is met there instead.
void measure_links(RemoteHostReport& host, const MachineFacts& machine, std::optional<LinkKind> wanted,
                   const RunRow& run, const std::function<std::string()>& is_there);

}  // namespace framewire
