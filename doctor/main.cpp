// framewire doctor: says what this machine has for sending and viewing frames, and what would make it better.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "command/run_program.hpp"
#include "doctor/json_report.hpp"
#include "doctor/judge.hpp"
#include "doctor/options.hpp"
#include "doctor/probe.hpp"
#include "doctor/text_report.hpp"

namespace framewire {
namespace {

/// On a terminal, unless the user wants none: no-color.org.
bool wants_colour() {
  const char* none = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && (none == nullptr || none[0] == '\0') &&
         (terminal == nullptr || std::strcmp(terminal, "dumb") != 0);
}

ExitStatus run(const DoctorOptions& options) {
  const MachineFacts machine = probe_machine();
  const Findings findings = judge(machine, options.transport);
  if (options.as_json) {
    fmt::print("{}\n", json_report(machine, findings, options.transport));
  } else {
    const TextStyle style{.has_colour = wants_colour(), .is_verbose = options.is_verbose};
    const std::string report = text_report("framewire doctor " FRAMEWIRE_VERSION, findings, style);
    std::fwrite(report.data(), 1, report.size(), stdout);
  }
  return has_problem(findings) ? ExitStatus::failed : ExitStatus::ok;
}

}  // namespace
}  // namespace framewire

int main(int argc, char** argv) {
  using namespace framewire;
  return run_program("framewire-doctor", [&] {
    const auto options = parse_doctor_options(argc, argv);
    return options ? run(*options) : ExitStatus::ok;
  });
}
