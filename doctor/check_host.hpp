// The findings about the route to another machine: pure functions of its report.
#pragma once

#include <optional>
#include <string>

#include "doctor/facts.hpp"
#include "doctor/finding.hpp"
#include "doctor/host_facts.hpp"
#include "transport/link.hpp"

namespace framewire {

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

}  // namespace framewire
