// What the command line of framewire-doctor says.
#pragma once

#include <optional>

#include "doctor/host_facts.hpp"
#include "transport/link.hpp"

namespace framewire {

struct DoctorOptions {
  std::optional<HostTarget> host;     // that is examined; nothing: this machine
  std::optional<LinkKind> transport;  // that has to work; nothing: any
  bool as_json = false;
  bool is_verbose = false;
};

/// Nothing when --help or --version were asked for. Throws Error (usage).
std::optional<DoctorOptions> parse_doctor_options(int argc, const char* const* argv);

}  // namespace framewire
