// Parses the command line of framewire-doctor.
#include "doctor/options.hpp"

#include <CLI/CLI.hpp>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"
#include "command/command_line.hpp"
#include "transport/address.hpp"

namespace framewire {

namespace {

constexpr const char* description =
    "Checks this machine, or the path to another, and prints what would improve it\n"
    "framewire doctor shows what this machine has for sending and viewing frames: links, RDMA devices, memory, "
    "graphics, network. Each finding that commands can improve comes with them.\n\n"
    "With HOST it also checks the path to HOST and back: which program answers, the latency of small messages, the "
    "bandwidth of each link in both directions, and the link that --transport auto takes. Start a bench server on HOST "
    "first: framewire bench --listen '*:5290'.";

constexpr const char* examples =
    "Examples:\n"
    "  framewire doctor                      this machine\n"
    "  framewire doctor --verbose            also all GIDs, limits and details\n"
    "  framewire doctor --transport rdma     fail if RDMA does not work\n"
    "  framewire doctor big                  the path to big and back; takes about ten seconds\n"
    "  framewire doctor big:5292 --transport rdma --json | jq .host\n"
    "                                        one link only, as JSON for a program\n"
    "  framewire doctor --json | jq '.findings[] | select(.level != \"ok\")'\n"
    "                                        only the findings that could be better\n"
    "Exit status:\n"
    "  0  frames can be sent and viewed; with HOST, in both directions by at least one link (by that of "
    "--transport, if given)\n"
    "  1  something is broken\n"
    "  2  the command line is wrong\n"
    "Environment:\n"
    "  NO_COLOR  if set, print without colours on a terminal, too\n";

struct RawOptions {
  std::string host, transport = "auto", key, timeout;
  bool is_insecure = false;
};

void describe_options(CLI::App& app, RawOptions& raw, DoctorOptions& options) {
  app.add_option("HOST[:PORT]", raw.host,
                 "machine to check the path to, port 5290 unless given (default: check this machine only)");
  app.add_option("--transport", raw.transport, "link that must work (default auto: any)")
      ->type_name("auto|" + all_link_names("|", "|"));
  app.add_option("--key", raw.key, "with HOST: authenticate with the key in FILE (default ~/.config/framewire/key)")
      ->type_name("FILE");
  app.add_flag("--insecure", raw.is_insecure, "with HOST: use no key; the server must run with --insecure, too");
  app.add_option("--timeout", raw.timeout, "with HOST: treat it as lost after this much silence (default 5s; rdma: 1s)")
      ->type_name("TIME");
  app.add_flag("--json", options.as_json, "print one JSON object instead of text");
  app.add_flag("-v,--verbose", options.is_verbose, "print more detail");
  app.footer(examples);
}

std::optional<HostTarget> read_host(const RawOptions& raw) {
  if (raw.host.empty()) {
    for (const auto& [option, is_said] :
         {std::pair("--key", !raw.key.empty()), std::pair("--insecure", raw.is_insecure),
          std::pair("--timeout", !raw.timeout.empty())}) {
      if (is_said) {
        throw Error::usage(std::string(option) + " is for the path to another machine; name it as HOST");
      }
    }
    return std::nullopt;
  }
  HostTarget host{.at = parse_dialled(raw.host, default_frame_port),
                  .key_file = {},
                  .insecure = raw.is_insecure,
                  .timeout = raw.timeout};
  if (host.at.port == 0 || host.at.host == "*") {
    throw Error::usage("HOST is " + quote(raw.host) + ", where nobody can be reached; it takes NAME or NAME:PORT");
  }
  if (!raw.key.empty()) {
    host.key_file = raw.key;
  }
  if (!raw.timeout.empty()) {
    static_cast<void>(parse_duration_ns(raw.timeout, "--timeout"));
  }
  return host;
}

}  // namespace

std::optional<DoctorOptions> parse_doctor_options(int argc, const char* const* argv) {
  CLI::App app{description, "framewire-doctor"};
  DoctorOptions options;
  RawOptions raw;
  describe_options(app, raw, options);
  if (!parse_command_line(app, argc, argv)) {
    return std::nullopt;
  }
  options.transport = link_kind_from_name(raw.transport);
  if (!options.transport && raw.transport != "auto") {
    throw Error::usage("--transport is " + quote(raw.transport) + "; it takes auto, " + all_link_names(", ", " or "));
  }
  options.host = read_host(raw);
  return options;
}

}  // namespace framewire
