#include "doctor/options.hpp"

#include <CLI/CLI.hpp>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"
#include "command/command_line.hpp"

namespace framewire {

namespace {

constexpr const char* description =
    "Looks at what this machine has for sending and viewing frames: links, RDMA devices, memory, graphics, network.\n"
    "What could be better stands there with the commands that mend it. The exit status is 0 when frames can be sent "
    "and\n"
    "viewed, and 1 when something is broken.";

constexpr const char* examples =
    "\nExamples:\n"
    "  framewire doctor                      what there is, and what could be better\n"
    "  framewire doctor --verbose            with all GIDs, limits and details\n"
    "  framewire doctor --transport rdma     fails where RDMA does not work\n"
    "  framewire doctor --json | jq '.findings[] | select(.level != \"ok\")'\n";

}  // namespace

std::optional<DoctorOptions> parse_doctor_options(int argc, const char* const* argv) {
  CLI::App app{description, "framewire-doctor"};
  DoctorOptions options;
  std::string transport = "auto";
  app.add_option("--transport", transport, "what has to work: auto (any), local, tcp or rdma")->type_name("NAME");
  app.add_flag("--json", options.as_json, "print one JSON object");
  app.add_flag("-v,--verbose", options.is_verbose, "say more");
  app.footer(examples);
  if (!parse_command_line(app, argc, argv)) {
    return std::nullopt;
  }
  options.transport = link_kind_from_name(transport);
  if (!options.transport && transport != "auto") {
    throw Error::usage("--transport is " + quote(transport) + "; it takes auto, local, tcp or rdma");
  }
  return options;
}

}  // namespace framewire
