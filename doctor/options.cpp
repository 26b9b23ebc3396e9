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
    "Looks at this machine, or at the way to another, and says what would make it better\n"
    "It shows what there is for sending and viewing frames: links, RDMA devices, memory, graphics, network. What could "
    "be better stands there with the commands that mend it.\n\n"
    "With HOST it tries the way there and back, too: who answers, how long small messages take, what each link moves "
    "in both directions, and what --transport auto would take. A bench server has to run there: "
    "framewire bench --listen '*:5290'.";

constexpr const char* examples =
    "Examples:\n"
    "  framewire doctor                      what there is, and what could be better\n"
    "  framewire doctor --verbose            with all GIDs, limits and details\n"
    "  framewire doctor --transport rdma     fails where RDMA does not work\n"
    "  framewire doctor big                  the way to big and back, which takes some ten seconds\n"
    "  framewire doctor big:5292 --transport rdma --json | jq .host\n"
    "                                        the same for a program, by one link\n"
    "  framewire doctor --json | jq '.findings[] | select(.level != \"ok\")'\n"
    "                                        only what could be better\n"
    "Exit status:\n"
    "  0  frames can be sent and viewed; with HOST: both ways, by one link or by that of --transport\n"
    "  1  something is broken\n"
    "  2  the command line is wrong\n"
    "Environment:\n"
    "  NO_COLOR  no colours, also on a terminal\n";

struct RawOptions {
  std::string host, transport = "auto", key, timeout;
  bool is_insecure = false;
};

void describe_options(CLI::App& app, RawOptions& raw, DoctorOptions& options) {
  app.add_option("HOST[:PORT]", raw.host, "the machine to try the way to; without it only this one is looked at");
  app.add_option("--transport", raw.transport, "the link that has to work (auto: any)")
      ->type_name("auto|local|tcp|rdma");
  app.add_option("--key", raw.key, "with HOST: the key file to authenticate with")->type_name("FILE");
  app.add_flag("--insecure", raw.is_insecure, "with HOST: without a key, as the server there was started");
  app.add_option("--timeout", raw.timeout, "with HOST: silence after which it counts as lost (5s; rdma: 1s)")
      ->type_name("TIME");
  app.add_flag("--json", options.as_json, "print one JSON object");
  app.add_flag("-v,--verbose", options.is_verbose, "say more");
  app.footer(examples);
}

std::optional<HostTarget> read_host(const RawOptions& raw) {
  if (raw.host.empty()) {
    for (const auto& [option, is_said] :
         {std::pair("--key", !raw.key.empty()), std::pair("--insecure", raw.is_insecure),
          std::pair("--timeout", !raw.timeout.empty())}) {
      if (is_said) {
        throw Error::usage(std::string(option) + " is for the way to another machine; name that as HOST");
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
    throw Error::usage("--transport is " + quote(raw.transport) + "; it takes auto, local, tcp or rdma");
  }
  options.host = read_host(raw);
  return options;
}

}  // namespace framewire
