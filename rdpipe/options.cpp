#include "rdpipe/options.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "bytes/options.hpp"
#include "command/command_line.hpp"

namespace framewire {

namespace {

constexpr const char* description =
    "Runs a pipeline whose stages are on different hosts\n"
    "rdpipe starts the stages by ssh. The bytes go directly from host to host: over RDMA if it works, else over TCP, "
    "and through shared memory within one machine. Standard input feeds the first stage. The output of the last "
    "stage comes back to standard output. No command runs before all connections are made.\n"
    "\n"
    "A STAGE is one of:\n"
    "  HOST:'command'  runs the command on HOST, in the user's shell\n"
    "  :'command'      runs the command on this machine\n"
    "  HOST:'<file'    reads a file; only as the first stage\n"
    "  HOST:'>file'    writes a file; only as the last stage; >> appends\n"
    "HOST is what ssh takes: a name, user@name, [IPv6], or an alias of ssh's configuration. Every host needs "
    "framewire.";
constexpr const char* examples =
    "Examples:\n"
    "  echo hello | rdpipe host1:'tr [:lower:] [:upper:]' host2:rev\n"
    "                       feed standard input to host1, and print the output of host2\n"
    "  rdpipe backup@fileserver:'zfs send tank/media@head' store:'zfs recv tank-backup/media'\n"
    "                       copy from host to host; the bytes do not pass this machine\n"
    "  tar c data | rdpipe worker:'tar x -C /scratch'\n"
    "                       copy a folder\n"
    "  rdpipe -v big:'</scratch/film.y4m' box:'ffplay -'\n"
    "                       play a file, and show the rate\n"
    "  rdpipe --data-address store=10.0.0.2 db:'pg_dump media' store:'>media.sql'\n"
    "                       send the bytes over another network than ssh\n"
    "Exit status:\n"
    "The same as in a shell with pipefail:\n"
    "  0        every stage succeeded\n"
    "  125      rdpipe itself failed\n"
    "  128 + N  signal N ended the last stage that failed, or interrupted rdpipe\n"
    "  other    the status of the last stage that failed\n";

struct RawPipeOptions {
  std::vector<std::string> stages, ssh_options, data_addresses;
  std::string ssh_config, port_range, rdpipe_path, limit, slots, slot_bytes, timeout;
  std::string transport = "auto";
  bool no_checksum = false;
  bool encrypt = false;
  bool is_verbose = false;
  bool only_shows = false;
};

void add_options(CLI::App& app, RawPipeOptions& raw) {
  app.add_option("STAGE", raw.stages, "a command or a file, and its host; bytes go from each stage to the next")
      ->type_name("HOST:COMMAND")
      ->required()
      ->expected(1, -1);
  app.add_flag("-v,--verbose", raw.is_verbose, "show the rate of each hop, live and at the end");
  app.add_flag("-n,--dry-run", raw.only_shows, "print what would run, where, and how the bytes would go; run nothing");
  app.add_option("-F", raw.ssh_config, "configuration file for ssh (default: that of ssh)")->type_name("FILE");
  app.add_option("-o", raw.ssh_options, "option for ssh, as in Port=2222; repeat it for more options")
      ->type_name("OPTION")
      ->allow_extra_args(false);
  app.add_option("--data-address", raw.data_addresses,
                 "send the bytes to HOST at ADDRESS (default: rdpipe tries the addresses of HOST, RDMA first)")
      ->type_name("HOST=ADDRESS")
      ->allow_extra_args(false);
  app.add_option("--port-range", raw.port_range, "ports to listen on for the bytes (default: any)")
      ->type_name("FIRST-LAST");
  app.add_option("--rdpipe-path", raw.rdpipe_path, "name or path of rdpipe on the hosts (default rdpipe)")
      ->type_name("PROGRAM");
  app.add_option("--transport", raw.transport, "link of every hop (default auto: the best one that works)")
      ->type_name("auto|" + all_link_names("|", "|"));
  app.add_flag("--encrypt", raw.encrypt, "encrypt the bytes, by TLS 1.3 over tcp (default: plaintext)");
  app.add_flag("--no-checksum", raw.no_checksum, "neither check the bytes nor compute a digest (default: both)");
  app.add_option("--limit", raw.limit,
                 "most bytes a second on every hop, with k, M or G for powers of 1024 (default: no limit)")
      ->type_name("RATE");
  app.add_option(
         "--slots", raw.slots,
         fmt::format("chunks in flight on a hop (default {}); raise it on links with a large bandwidth-delay product",
                     default_slots))
      ->type_name("N");
  app.add_option("--slot-bytes", raw.slot_bytes, "largest chunk, 4k to 64M (default 1M)")->type_name("N");
  app.add_option("--timeout", raw.timeout, "treat the other end of a hop as lost after this much silence (default 10s)")
      ->type_name("TIME");
}

void read_port_range(const std::string& text, HopParameters& parameters) {
  const std::size_t dash = text.find('-');
  const std::string first = text.substr(0, dash);
  parameters.first_port = static_cast<std::uint16_t>(parse_number(first, "--port-range", 1, UINT16_MAX));
  parameters.last_port = parameters.first_port;
  if (dash != std::string::npos) {
    parameters.last_port =
        static_cast<std::uint16_t>(parse_number(text.substr(dash + 1), "--port-range", 1, UINT16_MAX));
  }
  if (parameters.last_port < parameters.first_port) {
    throw Error::usage("--port-range is " + quote(text) + "; it takes FIRST-LAST, as in 5300-5399");
  }
}

HopParameters parse_hop_parameters(const RawPipeOptions& raw) {
  HopParameters parameters{.transport = raw.transport,
                           .encrypts = raw.encrypt,
                           .takes_digest = !raw.no_checksum,
                           .tells_progress = raw.is_verbose};
  parse_chunk_options({.limit = raw.limit, .slots = raw.slots, .slot_bytes = raw.slot_bytes},
                      parameters.limit_bytes_per_s, parameters.slots, parameters.slot_bytes);
  if (!raw.timeout.empty()) {
    parameters.timeout_ns = parse_duration_ns(raw.timeout, "--timeout");
  }
  if (!raw.port_range.empty()) {
    read_port_range(raw.port_range, parameters);
  }
  endpoint_of({.parameters = parameters});  // throws for an unknown transport
  return parameters;
}

/// Throws also for a host that is in no stage: most likely a typing error.
void read_data_addresses(const RawPipeOptions& raw, PipelineOptions& options) {
  for (const std::string& text : raw.data_addresses) {
    const std::size_t equals = text.find('=');
    const std::string host = without_brackets(text.substr(0, equals));
    const std::string address = equals == std::string::npos ? "" : without_brackets(text.substr(equals + 1));
    if (host.empty() || address.empty()) {
      throw Error::usage("--data-address is " + quote(text) + "; it takes HOST=ADDRESS, with HOST as a stage has it");
    }
    bool is_known = false;
    for (const Stage& stage : options.stages) {
      const std::string without_user = stage.host.substr(stage.host.rfind('@') + 1);
      if (host == stage.host || host == without_user) {
        options.data_addresses[stage.host] = address;
        is_known = true;
      }
    }
    if (!is_known) {
      throw Error::usage("--data-address is " + quote(text) + ", but no stage is on " + quote(host));
    }
  }
}

}  // namespace

std::optional<PipelineOptions> parse_rdpipe_options(int argc, const char* const* argv) {
  if (argc < 2) {
    parse_stages({});  // throws, and explains what a stage is
  }
  RawPipeOptions raw;
  CLI::App app(description, "rdpipe");
  add_options(app, raw);
  app.footer(examples);
  if (!parse_command_line(app, argc, argv)) {
    return std::nullopt;
  }
  PipelineOptions options{
      .stages = parse_stages(raw.stages), .is_verbose = raw.is_verbose, .only_shows = raw.only_shows};
  if (!raw.ssh_config.empty()) {
    options.ssh.config_file = raw.ssh_config;
  }
  options.ssh.options = raw.ssh_options;
  options.ssh.remote_program = raw.rdpipe_path.empty() ? "rdpipe" : raw.rdpipe_path;
  options.parameters = parse_hop_parameters(raw);
  read_data_addresses(raw, options);
  return options;
}

}  // namespace framewire
