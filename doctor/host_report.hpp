// The route to another machine: its part of the JSON report, and the commands that fix it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/facts.hpp"
#include "doctor/host_facts.hpp"

namespace framewire {

/// The "host" of the JSON report. docs/doctor.md lists its keys; null: not known, or not measured.
nlohmann::ordered_json host_json(const RemoteHostReport& host);

/// The fault's name in the JSON report: "nothing_listens".
const char* name(HostFault fault) noexcept;

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
