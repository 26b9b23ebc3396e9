// The command line of framewire-doctor.
#pragma once

#include <optional>

#include "doctor/facts.hpp"
#include "transport/link.hpp"

namespace framewire {

struct DoctorOptions {
  std::optional<HostTarget> host;     // to examine; nothing: this machine
  std::optional<LinkKind> transport;  // the link that must work; nothing: any
  bool as_json = false;
  bool is_verbose = false;
};

/// Returns nothing if --help or --version was given. Throws Error (usage).
std::optional<DoctorOptions> parse_doctor_options(int argc, const char* const* argv);

}  // namespace framewire
