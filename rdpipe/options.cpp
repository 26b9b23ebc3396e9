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
    "ssh starts them; the bytes go directly from host to host, over RDMA where there is RDMA, else over TCP (within "
    "one machine by shared memory). Standard "
    "input feeds the first stage, and what the last one prints comes back. No command runs before every connection "
    "stands.\n\n"
    "A STAGE is one of:\n"
    "  HOST:'command'  run by the user's shell there\n"
    "  :'command'      run on this machine\n"
    "  HOST:'<file'    as the first, reads a file\n"
    "  HOST:'>file'    as the last, writes one; >> appends\n"
    "HOST is what ssh takes: a name, user@name, [IPv6], or an alias of its configuration. Every host needs framewire.";
constexpr const char* examples =
    "Examples:\n"
    "  echo hello | rdpipe host1:'tr [:lower:] [:upper:]' host2:rev\n"
    "                       standard input into the first stage, the last one's output back here\n"
    "  rdpipe backup@fileserver:'zfs send tank/media@head' store:'zfs recv tank-backup/media'\n"
    "                       from one host to another, past this one\n"
    "  tar c data | rdpipe worker:'tar x -C /scratch'\n"
    "                       a folder\n"
    "  rdpipe -v big:'</scratch/film.y4m' box:'ffplay -'\n"
    "                       a file, with how fast it goes\n"
    "  rdpipe --data-address store=10.0.0.2 db:'pg_dump media' store:'>media.sql'\n"
    "                       the bytes by another network than ssh\n"
    "Exit status:\n"
    "As a shell has it with pipefail:\n"
    "  0        all went well\n"
    "  125      rdpipe itself failed\n"
    "  128 + N  signal N ended the last stage that failed\n"
    "  other    that of the last stage that failed\n";

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
  app.add_option("STAGE", raw.stages, "what runs where; the bytes go from each to the next")
      ->type_name("HOST:COMMAND")
      ->required()
      ->expected(1, -1);
  app.add_flag("-v,--verbose", raw.is_verbose, "how fast each hop is, live and at the end");
  app.add_flag("-n,--dry-run", raw.only_shows, "only say what would be run, and where, and how the bytes would go");
  app.add_option("-F", raw.ssh_config, "ssh's configuration file")->type_name("FILE");
  app.add_option("-o", raw.ssh_options, "an option for ssh, as in Port=2222")
      ->type_name("OPTION")
      ->allow_extra_args(false);
  app.add_option("--data-address", raw.data_addresses,
                 "the address of HOST for the bytes, where it is not the one that ssh has")
      ->type_name("HOST=ADDRESS")
      ->allow_extra_args(false);
  app.add_option("--port-range", raw.port_range, "ports to listen on for the bytes (any)")->type_name("FIRST-LAST");
  app.add_option("--rdpipe-path", raw.rdpipe_path, "rdpipe's name on the hosts (rdpipe)")->type_name("PROGRAM");
  app.add_option("--transport", raw.transport, "the link of every hop (auto: the best one that works)")
      ->type_name("auto|local|rdma|tcp");
  app.add_flag("--encrypt", raw.encrypt, "the bytes go inside TLS, over tcp");
  app.add_flag("--no-checksum", raw.no_checksum, "neither check the bytes nor take a digest of them");
  app.add_option("--limit", raw.limit, "bytes a second on every hop, with k, M or G (powers of 1024)")
      ->type_name("RATE");
  app.add_option("--slots", raw.slots,
                 fmt::format("pieces under way on a hop ({}); more where the way is long", default_slots))
      ->type_name("N");
  app.add_option("--slot-bytes", raw.slot_bytes, "the longest piece (1M)")->type_name("N");
  app.add_option("--timeout", raw.timeout, "silence after which the other end of a hop counts as lost (10s)")
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
  if (!raw.rdpipe_path.empty()) {
    options.ssh.remote_program = raw.rdpipe_path;
  }
  options.parameters = parse_hop_parameters(raw);
  read_data_addresses(raw, options);
  return options;
}

}  // namespace framewire
