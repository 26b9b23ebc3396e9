#include "bench/options.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "bench/plan.hpp"
#include "command/command_line.hpp"
#include "command/named_files.hpp"
#include "transport/address.hpp"
#include "transport/links.hpp"
#include "transport/session/endpoint.hpp"

namespace framewire {

namespace {

constexpr const char* description =
    "Measures the links, on one machine or between two\n"
    "framewire bench sends messages and frames of given sizes over each link. For comparison it sends the same over "
    "plain blocking sockets with the same buffers. If there is an RDMA device, it also measures the device itself "
    "(verbs: send, write, write_imm, read). With --transport xdp it measures AF_XDP sockets over Ethernet.\n\n"
    "framewire bench article prints the table of an article on RDMA instead: sockets, links, verbs and AF_XDP, with "
    "100,000 messages of 64 bytes and 1,000 of 1 MiB.\n\n"
    "Without HOST it starts both ends on this machine. On two machines run framewire bench --listen '*:5290' on one, "
    "and framewire bench HOST on the other.\n\n"
    "A rate is the number of messages divided by the time from the start of the first message to the arrival of the "
    "last (verbs: to its acknowledgement at the device). Setup does not count: memory, connections, and a few warm-up "
    "messages. Latency rows show half of a round trip, as ib_write_lat does. One-way figures stand beside them, with "
    "the uncertainty of the two clocks.";

constexpr const char* examples =
    "Examples:\n"
    "  framewire bench                                        every link, 64 B to a 4K frame\n"
    "  framewire bench --transport tcp --message-bytes 33177600 --duration 5\n"
    "                                                         one link, 4K frames, five seconds a row\n"
    "  framewire bench --transport local --message-bytes 33177600 --spin\n"
    "                                                         poll at both ends\n"
    "  framewire bench --count 100000 --duration 10s          sockets, links and verbs, as RDMA articles compare "
    "them:\n"
    "                                                         times of both ends, MB/s, messages/s\n"
    "  framewire bench article --plot rates.svg               their table, with AF_XDP, and a plot over all sizes\n"
    "  sudo framewire bench --transport xdp                   AF_XDP, UDP and TCP over a virtual cable on this "
    "machine\n"
    "  sudo framewire bench big --transport xdp --interface eth1\n"
    "                                                         AF_XDP to big, where the server has --interface, too\n"
    "  framewire bench --listen 10.0.0.1:5290 --plain --insecure\n"
    "  framewire bench 10.0.0.1 --plain --label vpp           plain sockets of a stack that is preloaded on both ends\n"
    "  framewire bench big --reverse                          from big to this machine (without it: to big)\n"
    "  framewire bench big --transport verbs --spin           to compare with ib_send_bw, ib_write_bw and "
    "ib_read_bw; latency is\n"
    "                                                         a write with immediate to a completion at each end\n"
    "Exit status:\n"
    "  0  all rows were measured, or Ctrl-C ended it\n"
    "  1  a row failed\n"
    "  2  the command line is wrong\n"
    "  3  refused: by the server, or because there is no key\n"
    "  4  the server was lost, or none was reached\n";

struct RawOptions {
  RawCommonOptions common;
  std::string host, listen, operations, sizes, count, duration, slots, rate, repeats;
  std::string interface, modes, batches, label, plot;
  bool plain = false;
  bool spin = false;
  bool block = false;
  bool touch = false;
  bool reverse = false;
  bool json = false;
  bool is_verbose = false;
};

/// What is measured beside the links.
void describe_other_technologies(CLI::App& app, RawOptions& raw) {
  constexpr const char* group = "XDP, plain sockets and article";
  app.add_option("--interface", raw.interface,
                 "this end's network interface, of rows over XDP between two machines (default: a virtual Ethernet "
                 "cable between two network namespaces of this machine)")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--xdp-mode", raw.modes,
                 "where XDP's program runs: on the kernel's buffers or on the driver's (default generic,native)")
      ->type_name("generic|native,…")
      ->group(group);
  app.add_option("--batch", raw.batches,
                 "frames that rows over XDP and UDP hand to the kernel together (default 1,32; article: 32)")
      ->type_name("N,…")
      ->group(group);
  app.add_flag(
         "--plain", raw.plain,
         "plain sockets by socket(), connect(), poll(), send() and recv() alone, in two processes; runs under any "
         "stack that LD_PRELOAD puts in their place (default: with sendmsg(), and a control channel)")
      ->group(group);
  app.add_option("--label", raw.label, "the name of rows with --plain (default plain)")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--plot", raw.plot, "with article: write a plot of rates and latencies over sizes (SVG)")
      ->type_name("FILE")
      ->group(group);
}

void describe_options(CLI::App& app, RawOptions& raw) {
  app.add_option("HOST[:PORT]", raw.host,
                 "the bench server, port 5290 unless given (default: run both ends on this machine)");
  app.add_option("--listen", raw.listen, "run as the server until stopped (default: run as the client)")
      ->type_name("ADDR:PORT");
  app.add_option("--message-bytes", raw.sizes, "message sizes, with commas (default 64,4k,64k,1M,8M,33177600)")
      ->type_name("N,…");
  app.add_option(
         "--operation", raw.operations,
         "operations to measure, with commas (default all; links and sockets have stream and latency, verbs all "
         "but stream)")
      ->type_name("stream|latency|send|write|write_imm|read,…");
  app.add_option("--count", raw.count, "messages in each row, unless --duration ends it earlier (default: no limit)")
      ->type_name("N");
  app.add_option("--duration", raw.duration, "longest time of each row (default 1s; with --count: no limit)")
      ->type_name("TIME");
  app.add_option("--slots", raw.slots, "messages in flight (default 4 to 64, by size; over XDP and UDP 1024 frames)")
      ->type_name("N");
  app.add_option("--rate", raw.rate,
                 "messages per second in latency rows (default 0: send the next when the last was received)")
      ->type_name("N");
  app.add_option("--repeat", raw.repeats, "repeat every row N times, interleaved, and print medians (default 1)")
      ->type_name("N");
  auto* spin =
      app.add_flag("--spin", raw.spin,
                   "poll at both ends, one CPU core each (default: poll briefly, then sleep; XDP and UDP sleep at "
                   "once)");
  app.add_flag("--block", raw.block, "sleep at both ends as soon as nothing is there (default: poll briefly first)")
      ->excludes(spin);
  app.add_flag(
      "--touch", raw.touch,
      "write every byte of every message, and read it on arrival; for the verbs write and write_imm the receiver "
      "reads the last --slots messages at the end");
  describe_other_technologies(app, raw);
  app.add_flag("--reverse", raw.reverse,
               "measure the links from the server to this end (default: from this end to the server)");
  app.add_flag(
      "--json", raw.json,
      "print one JSON object instead of a table; local's gigabytes_per_second is what it hands over without copying, "
      "not a bandwidth");
  app.add_flag("--verbose", raw.is_verbose, "print more detail");
  raw.common.takes_gpu_memory = true;
  add_endpoint_options(app, raw.common);
  add_ring_options(app, raw.common);
  app.get_option("--transport")
      ->description("what to measure (default auto: everything available); local is shared memory")
      ->type_name("auto|socket|" + all_link_names("|", "|") + "|verbs|xdp");
  app.footer(examples);
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

std::uint64_t read_size(const std::string& part, const std::string& text) {
  std::uint64_t size = 0;
  try {
    size = parse_bytes(part, "--message-bytes");
  } catch (const Error&) {  // which would name the limit of any number of bytes
  }
  if (size == 0 || size > (std::uint64_t{1} << 30)) {
    throw Error::usage("--message-bytes is " + quote(text) + "; each size can be 1 byte to 1G, as in 4096, 64k, 32M");
  }
  return size;
}

std::vector<std::uint64_t> read_sizes(const std::string& text) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& part : split_at_commas(text)) {
    sizes.push_back(read_size(part, text));
  }
  return sizes;
}

std::vector<std::string> read_operations(const std::string& text) {
  const std::vector<std::string>& known = operation_names();
  if (text.empty()) {
    return known;
  }
  std::vector<std::string> wanted = split_at_commas(text);
  for (const std::string& one : wanted) {
    if (std::ranges::find(known, one) == known.end()) {
      throw Error::usage("--operation is " + quote(text) +
                         "; it takes stream, send, write, write_imm, read and latency, with commas between them");
    }
  }
  return wanted;
}

bool is_transport(const std::string& word) {
  return word == "auto" || word == socket_transport || word == verbs_transport || word == xdp_transport ||
         link_kind_from_name(word).has_value();
}

/// What is not a link, but sends its rows beside the control channel, which alone is encrypted.
bool is_beside_links(const std::string& word) {
  return word == socket_transport || word == verbs_transport || word == xdp_transport;
}

// What is not a link is the transport of rows only: the other end has to allow the link that it belongs to.
constexpr LinkKind link_of_socket = LinkKind::tcp;

/// Plain sockets stream in one direction only, and verbs have the operation "read" for the other.
void refuse_what_has_no_reverse(const std::string& transport) {
  if (is_beside_links(transport)) {
    throw Error::usage("--reverse measures links, and --transport is " + quote(transport) +
                       (transport == verbs_transport ? "; of verbs, --operation read goes that way"
                                                     : "; take " + all_link_names(", ", " or ")));
  }
}

void read_endpoints(const RawOptions& raw, BenchOptions& options) {
  if (!raw.host.empty() && !raw.listen.empty()) {
    throw Error::usage("both HOST " + quote(raw.host) + " and --listen " + quote(raw.listen) +
                       " were given; this end is either the client or the server");
  }
  if (!raw.host.empty()) {
    options.endpoint.dial = parse_dialled(raw.host, default_frame_port);
  }
  if (!raw.listen.empty()) {
    options.endpoint.listen = parse_host_port(raw.listen, default_frame_port);
  }
  RawCommonOptions common = raw.common;
  if (!is_transport(common.transport)) {
    throw Error::usage("--transport is " + quote(common.transport) + "; it takes auto, socket, " +
                       all_link_names(", ", ", ") + ", verbs or xdp");
  }
  if (common.encrypt && is_beside_links(common.transport)) {
    throw Error::usage("--transport is " + quote(common.transport) + "; with --encrypt, which works over " +
                       names_of_links_that(&LinkTraits::can_be_encrypted) + " only, it takes " +
                       transports_that(&LinkTraits::can_be_encrypted));
  }
  if (common.transport == socket_transport || common.transport == xdp_transport) {
    common.transport = name(link_of_socket);
  } else if (common.transport == verbs_transport) {
    common.transport = name(link_of_verbs);
  }
  parse_endpoint_options(common, options.endpoint);
  options.memory = parse_memory(common);
}

void read_frame_options(const RawOptions& raw, BenchOptions& options) {
  options.interface = raw.interface;
  const bool is_between_machines = options.endpoint.dial || options.endpoint.listen;
  if (!raw.interface.empty() && !is_between_machines) {
    throw Error::usage("--interface is " + quote(raw.interface) +
                       ", but there is no HOST or --listen; on one machine the rows make their own interfaces");
  }
  if (raw.interface.empty() && options.endpoint.dial && raw.common.transport == xdp_transport) {
    throw Error::usage("--transport is 'xdp', and there is a HOST; name this end's interface with --interface NAME");
  }
  options.is_mode_named = !raw.modes.empty();
  for (const std::string& word : split_at_commas(raw.modes.empty() ? "generic,native" : raw.modes)) {
    const auto mode = xdp_mode_from_name(word);
    if (!mode) {
      throw Error::usage("--xdp-mode is " + quote(raw.modes) +
                         "; it takes generic and native, with a comma between them");
    }
    options.xdp_modes.push_back(*mode);
  }
  const std::string usual_batches = options.is_article ? "32" : "1,32";
  for (const std::string& word : split_at_commas(raw.batches.empty() ? usual_batches : raw.batches)) {
    options.batches.push_back(static_cast<std::uint32_t>(parse_number(word, "--batch", 1, 1024)));
  }
}

bool is_loopback_host(const std::string& host) {
  return host == "::1" || host == "localhost" || host.starts_with("127.");
}

void read_plain_options(const RawOptions& raw, BenchOptions& options) {
  options.is_plain = raw.plain;
  options.label = raw.label;
  if (!raw.plain && !raw.label.empty()) {
    throw Error::usage("--label is " + quote(raw.label) + "; it names rows with --plain, which is not given");
  }
  if (raw.plain && options.endpoint.listen && !options.endpoint.insecure &&
      !is_loopback_host(options.endpoint.listen->host)) {
    throw Error::usage("--listen is " + quote(raw.listen) +
                       ", which lets other machines in, and --plain has no key; say --insecure, or take 127.0.0.1");
  }
  if (raw.plain && (options.endpoint.encrypt || raw.spin || raw.block || !raw.rate.empty() || !raw.interface.empty())) {
    throw Error::usage("--plain knows no --encrypt, --spin, --block, --rate and --interface; leave them out");
  }
  if (raw.plain && !options.endpoint.dial && !options.endpoint.listen) {
    throw Error::usage(
        "--plain runs in two processes; start framewire bench --listen 127.0.0.1:5290 --plain, and then "
        "framewire bench 127.0.0.1 --plain");
  }
  if (raw.plain && (raw.reverse || options.is_article ||
                    (raw.common.transport != "auto" && raw.common.transport != socket_transport))) {
    throw Error::usage(
        "--plain measures plain sockets to the server; it goes with --transport socket, and not with "
        "--reverse or article");
  }
}

/// Whether --plot would overwrite the key, or mix with the table.
void refuse_shared_files(const BenchOptions& options) {
  NamedFiles files;
  files.uses_key(key_file_of(options.endpoint));
  files.uses("standard output", "", STDOUT_FILENO);
  files.writes("--plot", options.plot_file);
  files.require_distinct();
}

/// 100,000 messages of 64 bytes and 1,000 of 1 MiB, which is a hundredth of the former.
void read_article_options(const RawOptions& raw, BenchOptions& options) {
  options.plot_file = raw.plot;
  if (!options.is_article) {
    if (raw.host == "article") {
      throw Error::usage("article has to be the first word: framewire bench article [OPTION]…");
    }
    if (!raw.plot.empty()) {
      throw Error::usage("--plot is " + quote(raw.plot) + "; it goes with framewire bench article");
    }
    return;
  }
  if (!raw.sizes.empty() || !raw.operations.empty() || raw.reverse) {
    throw Error::usage(
        "article has sizes and operations of its own; leave --message-bytes, --operation and --reverse "
        "out");
  }
  if (options.count == 0) {
    options.count = 100'000;
  }
}

}  // namespace

std::optional<BenchOptions> parse_bench_options(int argc, const char* const* argv) {
  CLI::App app{description, "framewire-bench"};
  RawOptions raw;
  describe_options(app, raw);
  std::vector<const char*> words(argv, argv + argc);
  BenchOptions options;
  options.is_article = words.size() > 1 && words[1] == std::string_view("article");
  if (options.is_article) {
    words.erase(words.begin() + 1);
  }
  if (!parse_command_line(app, static_cast<int>(words.size()), words.data())) {
    return std::nullopt;
  }
  read_endpoints(raw, options);
  read_frame_options(raw, options);
  read_plain_options(raw, options);
  if (!options.endpoint.may_choose_link) {
    options.transports = {raw.common.transport};
  }
  if (raw.reverse) {
    refuse_what_has_no_reverse(raw.common.transport);
    options.is_reverse = true;
  }
  options.operations = read_operations(raw.operations);
  options.message_sizes_bytes = read_sizes(raw.sizes.empty() ? "64,4k,64k,1M,8M,33177600" : raw.sizes);
  options.count = raw.count.empty() ? 0 : parse_number(raw.count, "--count", 1, 1'000'000'000);
  read_article_options(raw, options);
  if (!raw.duration.empty()) {
    options.duration_ns = parse_duration_ns(raw.duration, "--duration");
  } else if (options.count == 0) {
    options.duration_ns = ns_per_s;
  }
  options.slots = raw.slots.empty() ? 0 : static_cast<std::uint32_t>(parse_number(raw.slots, "--slots", 1, 64));
  options.rate_per_s = raw.rate.empty() ? 0 : static_cast<double>(parse_number(raw.rate, "--rate", 0, 1'000'000));
  options.repeats = raw.repeats.empty() ? 1 : static_cast<std::uint32_t>(parse_number(raw.repeats, "--repeat", 1, 99));
  options.wait = raw.spin ? WaitMode::spin : raw.block ? WaitMode::block : WaitMode::adaptive;
  options.touches_payload = raw.touch;
  options.as_json = raw.json;
  options.is_verbose = raw.is_verbose;
  if (!options.plot_file.empty()) {
    refuse_shared_files(options);
  }
  return options;
}

}  // namespace framewire
