// The way to another machine for a program.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "doctor/host_facts.hpp"

namespace framewire {

/// The "host" of the doctor's report. docs/doctor.md lists its keys; null: not known, or not measured.
nlohmann::ordered_json host_json(const RemoteHostReport& host);

/// "nothing_listens": as the report names it.
const char* name(HostFault fault) noexcept;

}  // namespace framewire
