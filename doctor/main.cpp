// framewire-doctor: reports whether this machine, and the route to another one, are ready for sending and viewing
// frames, and what to improve.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "command/run_program.hpp"
#include "command/terminal_log.hpp"
#include "doctor/check.hpp"
#include "doctor/options.hpp"
#include "doctor/probe.hpp"
#include "doctor/report.hpp"

namespace framewire {
namespace {

/// Colour on a terminal, unless NO_COLOR is set (no-color.org).
bool wants_colour() {
  const char* none = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && (none == nullptr || none[0] == '\0') &&
         (terminal == nullptr || std::strcmp(terminal, "dumb") != 0);
}

/// Shows the running measurement on a terminal: it takes some seconds.
std::function<void(const HostRow&)> progress_on(TerminalLog& log) {
  return [&log](const HostRow& row) {
    if (log.is_terminal()) {
      const char* what = row.is_latency ? "small messages" : row.is_reverse ? "a burst back" : "a burst there";
      log.live(fmt::format("measuring {}: {}", name(row.link), what));
    }
  };
}

RemoteHostReport examine_host(const HostTarget& target, const MachineFacts& machine, std::optional<LinkKind> wanted) {
  TerminalLog log(stderr, "framewire-doctor", false);
  RemoteHostReport host = greet_host(target);
  if (host.fault == HostFault::none) {
    measure_links(host, machine, wanted, bench_runner(target, progress_on(log)),
                  [&target] { return greet_host(target).trouble; });
    if (log.is_terminal()) {
      log.live("");
    }
  }
  return host;
}

void print(const std::string& report) {
  std::fwrite(report.data(), 1, report.size(), stdout);
}

/// A machine that only transfers bytes has no programs for frames.
std::string what_it_is_ready_for(const MachineFacts& machine) {
  const auto is_here = [&](const char* program) {
    return std::ranges::find(machine.system.programs_beside, program) != machine.system.programs_beside.end();
  };
  return is_here("send") && is_here("view") ? "Ready to send and view" : "Ready to move bytes";
}

ExitStatus run_here(const DoctorOptions& options) {
  const MachineFacts machine = probe_machine();
  const Findings findings = check_machine(machine, options.transport);
  if (options.as_json) {
    print(json_report(machine, findings, options.transport) + "\n");
  } else {
    const TextStyle style{.has_colour = wants_colour(), .is_verbose = options.is_verbose};
    print(
        text_report("framewire doctor " FRAMEWIRE_VERSION, findings, style, {.ready = what_it_is_ready_for(machine)}));
  }
  return has_problem(findings) ? ExitStatus::failed : ExitStatus::ok;
}

/// Of this machine's findings, the text report contains only those that may matter; the JSON report contains all.
ExitStatus run_to_host(const DoctorOptions& options) {
  const MachineFacts machine = probe_machine();
  const RemoteHostReport host = examine_host(*options.host, machine, options.transport);
  Findings findings = check_host(host, machine, options.transport);
  Findings background = as_background(check_machine(machine, options.transport));
  if (!options.as_json && !options.is_verbose) {
    std::erase_if(background, [](const Finding& finding) { return finding.level < Level::warning; });
  }
  findings.insert(findings.end(), background.begin(), background.end());
  if (options.as_json) {
    print(json_report(machine, findings, options.transport, &host) + "\n");
  } else {
    const TextStyle style{.has_colour = wants_colour(), .is_verbose = options.is_verbose};
    print(text_report("framewire doctor " FRAMEWIRE_VERSION, findings, style,
                      {.ready = fmt::format("Ready to send to {} and to view from there", host.target.at.host),
                       .links_area = host_links_area(host)}));
  }
  return has_problem(findings) ? ExitStatus::failed : ExitStatus::ok;
}

}  // namespace
}  // namespace framewire

int main(int argc, char** argv) {
  using namespace framewire;
  return run_program("framewire-doctor", [&] {
    const auto options = parse_doctor_options(argc, argv);
    return !options ? ExitStatus::ok : options->host ? run_to_host(*options) : run_here(*options);
  });
}
