// The findings about this machine and about the route to another one: pure functions of the facts, one for each area
// of the report.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/facts.hpp"
#include "doctor/probe.hpp"
#include "transport/link.hpp"

namespace framewire {

// ---- Findings: the lines of the report ----

/// ok: as it should be. note: good to know; nothing is broken. warning: it works, but slower or less well than this
/// machine could. problem: what was asked for does not work.
enum class Level { ok, note, warning, problem };

/// One checked item. A value type.
struct Finding {
  // Empty by default, so that a finding names only the fields it has.
  std::string area{};  // "RDMA"
  std::string name{};  // "mlx5_0 port 1"
  Level level = Level::ok;
  std::string value{};                 // what was found, in a few words
  std::string text{};                  // what that means and what to do, in sentences; often empty for ok
  std::vector<std::string> details{};  // lines for --verbose
  std::vector<std::string> remedy{};   // the commands that fix it, ready to type; empty if no command does
};

using Findings = std::vector<Finding>;

constexpr std::string_view name(Level level) noexcept {
  switch (level) {
    case Level::ok:
      return "ok";
    case Level::note:
      return "note";
    case Level::warning:
      return "warning";
    case Level::problem:
      return "problem";
  }
  return "unknown";
}

inline bool has_problem(const Findings& findings) noexcept {
  return std::ranges::find(findings, Level::problem, &Finding::level) != findings.end();
}

// ---- This machine ----

/// Bytes that must be lockable for RDMA: rings and pools become MRs, which pins their pages.
/// Sender: pool_slots_for(viewers, slots) slots, and max_extra_slots that a decoder fills (transport/pool.hpp). Viewer:
/// a ring of `slots`. Both include what each connection needs besides. A slot holds one 3840x2160 rgba frame; --viewers
/// (4) and --slots (3) have their defaults.
struct MemlockRequirement {
  std::uint64_t sender_bytes = 0;
  std::uint64_t viewer_bytes = 0;
};
MemlockRequirement memlock_requirement();

/// Whether `bytes` can be locked.
bool can_lock(const MemoryFacts& memory, std::uint64_t bytes) noexcept;

/// The links that work. Points into the facts.
struct WorkingLinks {
  bool local = false;
  bool tcp = false;
  UsableRdmaPort rdma;
  std::vector<LinkKind> others{};

  [[nodiscard]] bool is_any() const noexcept { return local || tcp || rdma.is_usable() || !others.empty(); }
};
WorkingLinks find_working_links(const MachineFacts& machine);

/// The level of an RDMA fault: a problem if RDMA was asked for, a warning if there is a device that does not work, a
/// note if another port works.
Level rdma_fault_level(const MachineFacts& machine, std::optional<LinkKind> wanted, const WorkingLinks& works);

// One function for each area, in the order of the report. `wanted`: --transport; nothing: any link that works.
Findings check_links(const MachineFacts& machine, std::optional<LinkKind> wanted, const WorkingLinks& works);
Findings check_rdma(const MachineFacts& machine, Level fault_level);
/// For one port. `fault_level`: the level if the port cannot carry frames.
Findings check_port(const RdmaPortView& view, Level fault_level);
/// For the card of `adapter`: whether its slot is as fast as all its ports together. Reported once, with the card's
/// first adapter.
Findings check_pci(const RdmaAdapter& adapter, const RdmaFacts& rdma);
Findings check_memory(const MachineFacts& machine, Level fault_level);
Findings check_gpu(const MachineFacts& machine);
Findings check_network(const NetworkFacts& network);
Findings check_system(const SystemFacts& system, const KeyFacts& key);

/// All areas.
Findings check_machine(const MachineFacts& machine, std::optional<LinkKind> wanted);

// ---- The route to another machine ----

/// "210 µs", "1.5 ms".
std::string time_text(double us);

/// The area of the link findings: "Links to big:5290".
std::string host_links_area(const RemoteHostReport& host);

/// The link that `--transport auto` selects between the two machines, by the rule of a viewer's session: local for the
/// same user on the same machine, else rdma if it connects, else tcp. Nothing: no link connects.
std::optional<LinkKind> auto_choice(const RemoteHostReport& host);

// One function for each area. Without `wanted` one link that works both ways is enough; else the wanted link must.
Findings check_route(const RemoteHostReport& host, const MachineFacts& machine);
Findings check_host_links(const RemoteHostReport& host, const MachineFacts& machine, std::optional<LinkKind> wanted);
/// Whether a working link is as fast as expected. `area`: the area of the findings.
Findings check_speed(const RemoteHostReport& host, const MachineFacts& machine, const LinkMeasurements& link,
                     const std::string& area);

/// All areas. Contains a problem if the requested link does not work.
Findings check_host(const RemoteHostReport& host, const MachineFacts& machine, std::optional<LinkKind> wanted);

/// Lowers this machine's problems to warnings: with a host, the route itself is examined.
Findings as_background(Findings machine);

// ---- The commands that fix the route between two machines, to be typed on this one ----

using Commands = std::vector<std::string>;

/// "framewire bench --listen '*:5290'", run on that machine.
std::string start_server(const RemoteHostReport& host, std::uint16_t port);
/// The same, preceded by the commands for the key if there is none and it would be refused.
Commands start_server_with_key(const RemoteHostReport& host, const MachineFacts& machine);

/// Copies this machine's key to the other one; creates it first if there is none.
Commands share_key(const RemoteHostReport& host, bool has_key);

/// Opens a port in the usual firewalls. `protocol`: "tcp" or "udp".
Commands open_port(std::uint16_t port, std::string_view protocol, std::string_view where);

/// Runs the doctor again with another port.
std::string examine_at(const RemoteHostReport& host, std::uint16_t port);

/// A port to use when `port` is taken.
std::uint16_t other_port(std::uint16_t port) noexcept;

}  // namespace framewire
