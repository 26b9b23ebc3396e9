#include "bytes/options.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "command/command_line.hpp"
#include "transport/address.hpp"

namespace framewire {

namespace {

/// Longer than for frames: a transfer of hours should survive the reboot of a switch.
constexpr std::int64_t bytes_timeout_ns = 30'000'000'000;

constexpr const char* send_description =
    "Sends bytes to rdrecv on another machine: standard input or a file\n"
    "It ends with 0 only once rdrecv has written every byte of it. What is sent is checked at every step and as a "
    "whole. Between machines both need the same key: framewire key makes one.";
constexpr const char* send_examples =
    "Examples:\n"
    "  rdsend box original                        to the machine 'box'; there: rdrecv copy\n"
    "  zfs send tank@now | rdsend -v box          with a live line; there: rdrecv | zfs recv backup\n"
    "  tar c data | rdsend --limit 500M box       half a gigabyte a second at most\n"
    "  rdsend --listen '*:5291' film.y4m          wait for whoever takes it: rdrecv --from HOST\n"
    "Exit status:\n"
    "  0  all is written\n"
    "  1  failed\n"
    "  2  the command line is wrong\n"
    "  3  refused: by the receiver, or for want of a key\n"
    "  4  lost the receiver\n";

constexpr const char* receive_description =
    "Receives bytes from rdsend: to standard output or a file\n"
    "It ends with 0 only when all of it has come, is what was sent, and is written; a stream that was cut off never "
    "looks complete. Without a key, which framewire key makes, it listens on loopback only. A FILE that the sender "
    "reads "
    "on the same machine is refused and left as it is; two machines cannot tell that a file of a network file system "
    "is "
    "the same.";
constexpr const char* receive_examples =
    "Examples:\n"
    "  rdrecv | wc -c                             wait here for: rdsend HERE\n"
    "  rdrecv --fsync copy                        into a file, and onto the disk\n"
    "  rdrecv --from big:5291 copy                from a sender that waits: rdsend --listen '*:5291' FILE\n"
    "  rdrecv | rdsend next                       on a host in the middle\n"
    "Exit status:\n"
    "  0  all is written\n"
    "  1  failed\n"
    "  2  the command line is wrong\n"
    "  3  refused: by the sender, or for want of a key\n"
    "  4  lost the sender, or it ended before its end\n";

struct RawOptions {
  RawCommonOptions common;
  std::vector<std::string> names;
  std::string listen, from, file, limit, retry, slots, slot_bytes, stats;
  bool no_checksum = false;
  bool fsync = false;
};

void add_common_options(CLI::App& app, RawOptions& raw) {
  app.add_option("--retry", raw.retry, "how long to wait for the other end (10s; who listens: for ever)")
      ->type_name("TIME");
  app.add_option("--stats", raw.stats, "write one JSON object with all counts at the end")->type_name("FILE");
  app.add_flag("-v,--verbose", raw.common.is_verbose, "a live line, and the bandwidth at the end");
  add_endpoint_options(app, raw.common);
  app.get_option("--timeout")->description("silence after which the peer counts as lost (30s)");
}

void parse_common_options(const RawOptions& raw, EndpointOptions& endpoint, bool& is_verbose,
                          std::optional<std::string>& stats_file, std::int64_t& connect_timeout_ns) {
  endpoint.peer_timeout_ns = bytes_timeout_ns;
  endpoint.rdma_timeout_ns = bytes_timeout_ns;
  parse_endpoint_options(raw.common, endpoint);
  is_verbose = raw.common.is_verbose;
  if (!raw.stats.empty()) {
    stats_file = raw.stats;
  }
  if (!raw.retry.empty()) {
    connect_timeout_ns = parse_duration_ns(raw.retry, "--retry");
  }
}

void require_other_statistics(const std::optional<std::string>& stats, const std::string& data) {
  if (stats && data != "-") {
    require_another_file(*stats, data);
  }
}

/// Reads HOST and FILE of rdsend. With --listen there is no HOST.
void read_send_names(const RawOptions& raw, SendBytesOptions& options) {
  const bool dials = raw.listen.empty();
  const std::size_t most = dials ? 2 : 1;
  if (dials && raw.names.empty()) {
    throw Error::usage("rdsend needs HOST, or --listen ADDR:PORT; see rdsend --help");
  }
  if (raw.names.size() > most) {
    throw Error::usage(quote(raw.names[most]) + " is one name too many; rdsend takes " +
                       (dials ? "HOST and one FILE" : "one FILE beside --listen"));
  }
  if (dials) {
    options.endpoint.dial = parse_dialled(raw.names.front(), default_bytes_port);
  } else {
    options.endpoint.listen = parse_host_port(raw.listen, default_bytes_port);
  }
  if (raw.names.size() == most) {
    options.input = raw.names.back();
  }
}

}  // namespace

void parse_chunk_options(const RawChunkOptions& raw, std::uint64_t& limit_bytes_per_s, std::uint32_t& slots,
                         std::uint64_t& slot_bytes) {
  if (!raw.limit.empty()) {
    limit_bytes_per_s = parse_bytes(raw.limit, "--limit");
    if (limit_bytes_per_s == 0) {
      throw Error::usage("--limit is " + quote(raw.limit) + "; it takes bytes a second, as in 500M");
    }
  }
  if (!raw.slot_bytes.empty()) {
    slot_bytes = parse_bytes(raw.slot_bytes, "--slot-bytes");
    if (slot_bytes < min_chunk_bytes || slot_bytes > max_chunk_bytes) {
      throw Error::usage("--slot-bytes is " + quote(raw.slot_bytes) + "; it takes 4k to 64M");
    }
  }
  if (limit_bytes_per_s != 0) {
    // A chunk has at most a tenth of a second's bytes (RateLimiter), so a larger slot would be wasted.
    slot_bytes = std::clamp(limit_bytes_per_s / 10, min_chunk_bytes, slot_bytes);
  }
  if (!raw.slots.empty()) {
    slots = static_cast<std::uint32_t>(parse_number(raw.slots, "--slots", min_chunks, max_chunks));
  }
}

std::optional<SendBytesOptions> parse_rdsend_options(int argc, const char* const* argv) {
  RawOptions raw;
  CLI::App app(send_description, "rdsend");
  app.add_option("HOST[:PORT] FILE", raw.names, "the receiver, and what to send (standard input)");
  app.add_option("--listen", raw.listen, "wait here for a receiver that dials")->type_name("ADDR:PORT");
  app.add_flag("--no-checksum", raw.no_checksum, "neither check what is sent nor take a digest of it");
  app.add_option("--limit", raw.limit,
                 "bytes a second, with k, M or G (powers of 1024); no piece is longer than a tenth of that")
      ->type_name("RATE");
  app.add_option("--slots", raw.slots, fmt::format("pieces under way ({}); more where the way is long", default_slots))
      ->type_name("N");
  app.add_option("--slot-bytes", raw.slot_bytes, "the longest piece (1M)")->type_name("N");
  add_common_options(app, raw);
  app.footer(send_examples);
  if (!parse_command_line(app, argc, argv)) {
    return std::nullopt;
  }
  SendBytesOptions options;
  options.takes_digest = !raw.no_checksum;
  read_send_names(raw, options);
  if (options.endpoint.listen) {
    options.connect_timeout_ns = -1;  // as rdrecv: waits without a limit, unless --retry sets one
  }
  parse_chunk_options({.limit = raw.limit, .slots = raw.slots, .slot_bytes = raw.slot_bytes}, options.limit_bytes_per_s,
                      options.slots, options.slot_bytes);
  parse_common_options(raw, options.endpoint, options.is_verbose, options.stats_file, options.connect_timeout_ns);
  require_other_statistics(options.stats_file, options.input);
  return options;
}

std::optional<ReceiveBytesOptions> parse_rdrecv_options(int argc, const char* const* argv) {
  RawOptions raw;
  CLI::App app(receive_description, "rdrecv");
  app.add_option("FILE", raw.file, "where to (standard output)");
  auto* listen = app.add_option("--listen", raw.listen, "wait here for a sender (*:5291; without a key localhost:5291)")
                     ->type_name("ADDR:PORT");
  app.add_option("--from", raw.from, "dial a sender that listens")->type_name("HOST[:PORT]")->excludes(listen);
  app.add_flag("--fsync", raw.fsync, "end only when all of it stands on the disk");
  add_common_options(app, raw);
  add_ring_options(app, raw.common);
  add_spin_option(app, raw.common);
  app.footer(receive_examples);
  if (!parse_command_line(app, argc, argv)) {
    return std::nullopt;
  }
  ReceiveBytesOptions options;
  options.is_durable = raw.fsync;
  options.wait = wait_mode_of(raw.common);
  if (!raw.file.empty()) {
    options.output = raw.file;
  }
  if (!raw.from.empty()) {
    options.endpoint.dial = parse_dialled(raw.from, default_bytes_port);
    options.connect_timeout_ns = 10'000'000'000;
  } else {
    options.endpoint.listen = raw.listen.empty() ? HostPort{.host = {}, .port = default_bytes_port}
                                                 : parse_host_port(raw.listen, default_bytes_port);
  }
  parse_common_options(raw, options.endpoint, options.is_verbose, options.stats_file, options.connect_timeout_ns);
  require_other_statistics(options.stats_file, options.output);
  return options;
}

}  // namespace framewire
