// The way to another machine for a program.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/facts.hpp"
#include "doctor/host_facts.hpp"

namespace framewire {

/// The "host" of the doctor's report. docs/doctor.md lists its keys; null: not known, or not measured.
nlohmann::ordered_json host_json(const RemoteHostReport& host);

/// "nothing_listens": as the report names it.
const char* name(HostFault fault) noexcept;

// The commands that mend a way between two machines, as they are typed on this one.

using Commands = std::vector<std::string>;

/// "framewire bench --listen '*:5290'", on that machine.
std::string start_server(const RemoteHostReport& host, std::uint16_t port);
/// The same, and before it the key, where there is none and it would be refused.
Commands start_server_with_key(const RemoteHostReport& host, const MachineFacts& machine);

/// Gives the other machine this one's key; makes it before if there is none.
Commands share_key(const RemoteHostReport& host, bool has_key);

/// Lets a port through the firewalls that there may be. `protocol`: "tcp" or "udp".
Commands open_port(std::uint16_t port, std::string_view protocol, std::string_view where);

/// Looks again at another port.
std::string examine_at(const RemoteHostReport& host, std::uint16_t port);

/// A port beside the one that is taken.
std::uint16_t other_port(std::uint16_t port) noexcept;

}  // namespace framewire
