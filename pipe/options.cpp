#include "pipe/options.hpp"

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

/// A silent peer of frames is a dark screen; one of bytes is a job of hours that should not end for a reboot of a
/// switch.
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

struct Words {
  CommonWords common;
  std::vector<std::string> names;
  std::string listen, from, file, limit, retry, slots, slot_bytes, stats;
  bool no_checksum = false;
  bool fsync = false;
};

void add_common_options(CLI::App& app, Words& words) {
  app.add_option("--retry", words.retry, "how long to wait for the other end (10s; who listens: for ever)")
      ->type_name("TIME");
  app.add_option("--stats", words.stats, "write one JSON object with all counts at the end")->type_name("FILE");
  app.add_flag("-v,--verbose", words.common.is_verbose, "a live line, and the bandwidth at the end");
  add_endpoint_options(app, words.common);
  app.get_option("--timeout")->description("silence after which the peer counts as lost (30s)");
}

void read_common_words(const Words& words, EndpointOptions& endpoint, bool& is_verbose,
                       std::optional<std::string>& stats_file, std::int64_t& patience_ns) {
  endpoint.peer_timeout_ns = bytes_timeout_ns;
  endpoint.rdma_timeout_ns = bytes_timeout_ns;
  read_endpoint_words(words.common, endpoint);
  is_verbose = words.common.is_verbose;
  if (!words.stats.empty()) {
    stats_file = words.stats;
  }
  if (!words.retry.empty()) {
    patience_ns = parse_duration_ns(words.retry, "--retry");
  }
}

void require_other_statistics(const std::optional<std::string>& stats, const std::string& data) {
  if (stats && data != "-") {
    require_another_file(*stats, data);
  }
}

/// HOST and FILE of rdsend: with --listen there is no HOST.
void read_send_names(const Words& words, SendBytesOptions& options) {
  const bool dials = words.listen.empty();
  const std::size_t most = dials ? 2 : 1;
  if (dials && words.names.empty()) {
    throw Error::usage("rdsend needs HOST, or --listen ADDR:PORT; see rdsend --help");
  }
  if (words.names.size() > most) {
    throw Error::usage(quote(words.names[most]) + " is one name too many; rdsend takes " +
                       (dials ? "HOST and one FILE" : "one FILE beside --listen"));
  }
  if (dials) {
    options.endpoint.dial = parse_dialled(words.names.front(), default_bytes_port);
  } else {
    options.endpoint.listen = parse_host_port(words.listen, default_bytes_port);
  }
  if (words.names.size() == most) {
    options.input = words.names.back();
  }
}

}  // namespace

void read_piece_words(const PieceWords& words, std::uint64_t& limit_bytes_per_s, std::uint32_t& slots,
                      std::uint64_t& slot_bytes) {
  if (!words.limit.empty()) {
    limit_bytes_per_s = parse_bytes(words.limit, "--limit");
    if (limit_bytes_per_s == 0) {
      throw Error::usage("--limit is " + quote(words.limit) + "; it takes bytes a second, as in 500M");
    }
  }
  if (!words.slot_bytes.empty()) {
    slot_bytes = parse_bytes(words.slot_bytes, "--slot-bytes");
    if (slot_bytes < least_slot_bytes || slot_bytes > most_slot_bytes) {
      throw Error::usage("--slot-bytes is " + quote(words.slot_bytes) + "; it takes 4k to 64M");
    }
  }
  if (limit_bytes_per_s != 0) {
    // A piece goes at once, and has at most a tenth of a second's bytes (Pace): more than that needs no slot.
    slot_bytes = std::clamp(limit_bytes_per_s / 10, least_slot_bytes, slot_bytes);
  }
  if (!words.slots.empty()) {
    slots = static_cast<std::uint32_t>(parse_number(words.slots, "--slots", least_slots, most_slots));
  }
}

std::optional<SendBytesOptions> parse_rdsend_options(int argc, const char* const* argv) {
  Words words;
  CLI::App app(send_description, "rdsend");
  app.add_option("HOST[:PORT] FILE", words.names, "the receiver, and what to send (standard input)");
  app.add_option("--listen", words.listen, "wait here for a receiver that dials")->type_name("ADDR:PORT");
  app.add_flag("--no-checksum", words.no_checksum, "neither check what is sent nor take a digest of it");
  app.add_option("--limit", words.limit,
                 "bytes a second, with k, M or G (powers of 1024); no piece is longer than a tenth of that")
      ->type_name("RATE");
  app.add_option("--slots", words.slots, fmt::format("pieces under way ({}); more where the way is long", usual_slots))
      ->type_name("N");
  app.add_option("--slot-bytes", words.slot_bytes, "the longest piece (1M)")->type_name("N");
  add_common_options(app, words);
  app.footer(send_examples);
  if (!parse_command_line(app, argc, argv)) {
    return std::nullopt;
  }
  SendBytesOptions options;
  options.takes_digest = !words.no_checksum;
  read_send_names(words, options);
  if (options.endpoint.listen) {
    options.patience_ns = -1;  // as rdrecv: but for --retry, it waits for as long as it takes
  }
  read_piece_words({.limit = words.limit, .slots = words.slots, .slot_bytes = words.slot_bytes},
                   options.limit_bytes_per_s, options.slots, options.slot_bytes);
  read_common_words(words, options.endpoint, options.is_verbose, options.stats_file, options.patience_ns);
  require_other_statistics(options.stats_file, options.input);
  return options;
}

std::optional<ReceiveBytesOptions> parse_rdrecv_options(int argc, const char* const* argv) {
  Words words;
  CLI::App app(receive_description, "rdrecv");
  app.add_option("FILE", words.file, "where to (standard output)");
  auto* listen =
      app.add_option("--listen", words.listen, "wait here for a sender (*:5291; without a key localhost:5291)")
          ->type_name("ADDR:PORT");
  app.add_option("--from", words.from, "dial a sender that listens")->type_name("HOST[:PORT]")->excludes(listen);
  app.add_flag("--fsync", words.fsync, "end only when all of it stands on the disk");
  add_common_options(app, words);
  add_ring_options(app, words.common);
  add_spin_option(app, words.common);
  app.footer(receive_examples);
  if (!parse_command_line(app, argc, argv)) {
    return std::nullopt;
  }
  ReceiveBytesOptions options;
  options.is_durable = words.fsync;
  options.wait = wait_mode_of(words.common);
  if (!words.file.empty()) {
    options.output = words.file;
  }
  if (!words.from.empty()) {
    options.endpoint.dial = parse_dialled(words.from, default_bytes_port);
    options.patience_ns = 10'000'000'000;
  } else {
    options.endpoint.listen = words.listen.empty() ? HostPort{.host = {}, .port = default_bytes_port}
                                                   : parse_host_port(words.listen, default_bytes_port);
  }
  read_common_words(words, options.endpoint, options.is_verbose, options.stats_file, options.patience_ns);
  require_other_statistics(options.stats_file, options.output);
  return options;
}

}  // namespace framewire
