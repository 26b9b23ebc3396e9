// From the facts of a way to another machine to findings: pure functions.
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

/// The area of the links' findings: "Links to big:5290".
std::string host_links_area(const RemoteHostReport& host);

/// What `--transport auto` takes between the two, by the rule of a viewer's session: the same user on the same machine
/// has local, else rdma if that connects, else tcp. Nothing: no link connects.
std::optional<LinkKind> auto_choice(const RemoteHostReport& host);

// One area each. Without `wanted` one link that works both ways is enough; else that one has to.
Findings check_route(const RemoteHostReport& host, const MachineFacts& machine);
Findings check_host_links(const RemoteHostReport& host, const MachineFacts& machine, std::optional<LinkKind> wanted);
/// Whether a link that works is as fast as it should be. `area`: of the findings.
Findings check_speed(const RemoteHostReport& host, const MachineFacts& machine, const LinkMeasurements& link,
                     const std::string& area);

/// All areas. A problem is among them where what was asked for does not work.
Findings check_host(const RemoteHostReport& host, const MachineFacts& machine, std::optional<LinkKind> wanted);

/// What this machine's findings mean where the way to another was asked for: that is examined itself, so none of them
/// is more than a warning.
Findings as_background(Findings machine);

}  // namespace framewire
