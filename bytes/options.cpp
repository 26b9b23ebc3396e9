#include "bytes/options.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "command/command_line.hpp"
#include "command/named_files.hpp"
#include "transport/address.hpp"
#include "transport/session/endpoint.hpp"

namespace framewire {

namespace {

/// Longer than for frames: a transfer of hours should survive the reboot of a switch.
constexpr std::int64_t bytes_timeout_ns = 30'000'000'000;

constexpr const char* send_description =
    "Sends bytes to rdrecv on another machine: standard input or a file\n"
    "rdsend exits with 0 only after rdrecv has written every byte. rdrecv checks each chunk and the whole stream. "
    "Two machines need the same key: framewire key makes one.";
constexpr const char* send_examples =
    "Examples:\n"
    "  rdsend box original                        send a file to 'box'; on box: rdrecv copy\n"
    "  zfs send tank@now | rdsend -v box          show a live line; on box: rdrecv | zfs recv backup\n"
    "  tar c data | rdsend --limit 500M box       send at most 500 MiB a second\n"
    "  rdsend --listen '*:5291' film.y4m          wait for a receiver: rdrecv --from HOST FILE\n"
    "Exit status:\n"
    "  0  the receiver has written every byte\n"
    "  1  failed\n"
    "  2  the command line is wrong\n"
    "  3  refused: by the receiver, or because there is no key\n"
    "  4  the receiver was lost, or none came\n";

constexpr const char* receive_description =
    "Receives bytes from rdsend: to standard output or a file\n"
    "rdrecv exits with 0 only if every byte has arrived, matches what was sent, and is written. A stream that was cut "
    "off never looks complete. Without a key rdrecv listens on loopback only: framewire key makes one. If FILE is the "
    "file that a sender on the same machine reads, rdrecv refuses it and leaves it as it is. Between two machines it "
    "cannot tell that a file on a network file system is the same.";
constexpr const char* receive_examples =
    "Examples:\n"
    "  rdrecv | wc -c                             wait for: rdsend HERE\n"
    "  rdrecv --fsync copy                        write a file, and wait until it is on the disk\n"
    "  rdrecv --from big:5291 copy                connect to a sender that waits: rdsend --listen '*:5291' FILE\n"
    "  rdrecv | rdsend next                       relay from one host to the next\n"
    "Exit status:\n"
    "  0  every byte is written\n"
    "  1  failed\n"
    "  2  the command line is wrong\n"
    "  3  refused: by the sender, or because there is no key\n"
    "  4  the sender was lost, none came, or it ended before the end of the data\n";

struct RawOptions {
  RawCommonOptions common;
  std::vector<std::string> names;
  std::string listen, from, file, limit, retry, slots, slot_bytes, stats;
  bool no_checksum = false;
  bool fsync = false;
};

void add_common_options(CLI::App& app, RawOptions& raw) {
  app.add_option("--retry", raw.retry, "wait this long for the other end (default 10s to connect, for ever to listen)")
      ->type_name("TIME");
  app.add_option("--stats", raw.stats, "at the end, write all counters to FILE as one JSON object")->type_name("FILE");
  app.add_flag("-v,--verbose", raw.common.is_verbose, "show a live line, and the bandwidth at the end");
  add_endpoint_options(app, raw.common);
  app.get_option("--timeout")->description("treat the peer as lost after this much silence (default 30s)");
}

void parse_common_options(const RawOptions& raw, EndpointOptions& endpoint, bool& is_verbose,
                          std::optional<std::string>& stats_file, std::int64_t& connect_timeout_ns) {
  endpoint.peer_timeout_ns = bytes_timeout_ns;
  endpoint.native_timeout_ns = bytes_timeout_ns;
  parse_endpoint_options(raw.common, endpoint);
  is_verbose = raw.common.is_verbose;
  if (!raw.stats.empty()) {
    stats_file = raw.stats;
  }
  if (!raw.retry.empty()) {
    connect_timeout_ns = parse_duration_ns(raw.retry, "--retry");
  }
}

/// `data` "-" is the descriptor `fd`, which is called `stream`.
void refuse_shared_files(const std::optional<std::string>& stats, const EndpointOptions& endpoint,
                         const std::string& data, int fd, std::string_view stream) {
  NamedFiles files;
  if (data != "-") {
    files.uses("FILE", data, data);
  } else {
    files.uses(stream, "", fd);
  }
  files.uses_key(key_file_of(endpoint));
  if (stats) {
    files.writes("--stats", *stats);
  }
  files.require_distinct();
}

/// Reads HOST and FILE of rdsend. With --listen there is no HOST.
void read_send_names(const RawOptions& raw, SendBytesOptions& options) {
  const bool dials = raw.listen.empty();
  const std::size_t most = dials ? 2 : 1;
  if (dials && raw.names.empty()) {
    throw Error::usage("HOST is missing; name the receiver, or wait for one with --listen ADDR:PORT");
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
  app.add_option("HOST[:PORT] FILE", raw.names,
                 "the receiver, port 5291 unless given, and the file to send (default: standard input)");
  app.add_option("--listen", raw.listen, "wait here for a receiver that connects (default: connect to HOST)")
      ->type_name("ADDR:PORT");
  app.add_flag("--no-checksum", raw.no_checksum, "neither check the bytes nor compute a digest (default: both)");
  app.add_option(
         "--limit", raw.limit,
         "most bytes a second, with k, M or G for powers of 1024 (default: no limit); a chunk is then at most a tenth "
         "of that")
      ->type_name("RATE");
  app.add_option("--slots", raw.slots,
                 fmt::format("chunks in flight (default {}); raise it on links with a large bandwidth-delay product",
                             default_slots))
      ->type_name("N");
  app.add_option("--slot-bytes", raw.slot_bytes, "largest chunk, 4k to 64M (default 1M)")->type_name("N");
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
  refuse_shared_files(options.stats_file, options.endpoint, options.input, STDIN_FILENO, "standard input");
  return options;
}

std::optional<ReceiveBytesOptions> parse_rdrecv_options(int argc, const char* const* argv) {
  RawOptions raw;
  CLI::App app(receive_description, "rdrecv");
  app.add_option("FILE", raw.file, "the file to write (default: standard output)");
  auto* listen =
      app.add_option("--listen", raw.listen, "wait here for a sender (default *:5291; without a key localhost:5291)")
          ->type_name("ADDR:PORT");
  app.add_option("--from", raw.from, "connect to a sender that listens, port 5291 unless given")
      ->type_name("HOST[:PORT]")
      ->excludes(listen);
  app.add_flag("--fsync", raw.fsync, "exit only after all bytes are on the disk");
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
  refuse_shared_files(options.stats_file, options.endpoint, options.output, STDOUT_FILENO, "standard output");
  return options;
}

}  // namespace framewire
