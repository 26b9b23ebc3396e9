#include "bench/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "bench/verbs/verbs_plan.hpp"
#include "command/command_line.hpp"
#include "transport/address.hpp"
#include "transport/links.hpp"
#include "transport/session/endpoint.hpp"

namespace framewire {

// ---- The command line ----

namespace {

constexpr const char* description =
    "Measures the links, on one machine or between two\n"
    "framewire bench sends messages and frames of given sizes over each link. For comparison it sends the same over "
    "plain blocking sockets with the same buffers. If there is an RDMA device, it also measures the device itself "
    "(verbs: send, write, write_imm, read).\n\n"
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
  bool spin = false;
  bool block = false;
  bool touch = false;
  bool reverse = false;
  bool json = false;
  bool is_verbose = false;
};

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
  app.add_option("--slots", raw.slots, "messages in flight (default 4 to 64, by size)")->type_name("N");
  app.add_option("--rate", raw.rate,
                 "messages per second in latency rows (default 0: send the next when the last was received)")
      ->type_name("N");
  app.add_option("--repeat", raw.repeats, "repeat every row N times, interleaved, and print medians (default 1)")
      ->type_name("N");
  auto* spin =
      app.add_flag("--spin", raw.spin, "poll at both ends, one CPU core each (default: poll briefly, then sleep)");
  app.add_flag("--block", raw.block, "sleep at both ends as soon as nothing is there (default: poll briefly first)")
      ->excludes(spin);
  app.add_flag(
      "--touch", raw.touch,
      "write every byte of every message, and read it on arrival; for the verbs write and write_imm the receiver "
      "reads the last --slots messages at the end");
  app.add_flag("--reverse", raw.reverse,
               "measure the links from the server to this end (default: from this end to the server)");
  app.add_flag(
      "--json", raw.json,
      "print one JSON object instead of a table; local's gigabytes_per_second is what it hands over without copying, "
      "not a bandwidth");
  app.add_flag("--verbose", raw.is_verbose, "print more detail");
  add_endpoint_options(app, raw.common);
  add_ring_options(app, raw.common);
  app.get_option("--transport")
      ->description("what to measure (default auto: everything available); local is shared memory")
      ->type_name("auto|socket|" + all_link_names("|", "|") + "|verbs");
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

std::vector<std::uint64_t> read_sizes(const std::string& text) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& part : split_at_commas(text)) {
    const std::uint64_t size = parse_bytes(part, "--message-bytes");
    if (size == 0 || size > (std::uint64_t{1} << 30)) {
      throw Error::usage("--message-bytes is " + quote(text) + "; each size can be 1 byte to 1G");
    }
    sizes.push_back(size);
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
  return word == "auto" || word == socket_transport || word == verbs_transport || link_kind_from_name(word).has_value();
}

// What is not a link is the transport of rows only: the other end has to allow the link that it belongs to.
constexpr LinkKind link_of_socket = LinkKind::tcp;
constexpr LinkKind link_of_verbs = LinkKind::rdma;

/// Plain sockets stream in one direction only, and verbs have the operation "read" for the other.
void refuse_what_has_no_reverse(const std::string& transport) {
  if (transport == socket_transport || transport == verbs_transport) {
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
                       all_link_names(", ", ", ") + " or verbs");
  }
  if (common.encrypt && (common.transport == socket_transport || common.transport == verbs_transport)) {
    throw Error::usage("--transport is " + quote(common.transport) + "; with --encrypt, which works over " +
                       names_of_links_that(&LinkTraits::can_be_encrypted) + " only, it takes " +
                       transports_that(&LinkTraits::can_be_encrypted));
  }
  if (common.transport == socket_transport) {
    common.transport = name(link_of_socket);
  } else if (common.transport == verbs_transport) {
    common.transport = name(link_of_verbs);
  }
  parse_endpoint_options(common, options.endpoint);
}

}  // namespace

std::optional<BenchOptions> parse_bench_options(int argc, const char* const* argv) {
  CLI::App app{description, "framewire-bench"};
  RawOptions raw;
  describe_options(app, raw);
  if (!parse_command_line(app, argc, argv)) {
    return std::nullopt;
  }
  BenchOptions options;
  read_endpoints(raw, options);
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
  return options;
}

// ---- The rows that a command line asks for ----

namespace {

/// Messages in flight: enough small ones to hide a wake-up; few large ones, so that they stay in the caches if
/// possible.
std::uint32_t slots_for(const BenchOptions& options, std::uint64_t message_bytes) {
  if (options.slots != 0) {
    return options.slots;
  }
  constexpr std::uint64_t in_flight_bytes = std::uint64_t{16} << 20;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(in_flight_bytes / message_bytes, 4, 64));
}

bool can_do(const std::string& transport, const std::string& operation) {
  const bool is_verbs = verbs_operation_from_name(operation).has_value();
  return operation == "latency" || is_verbs == (transport == verbs_transport);
}

RowPlan plan_row(const BenchOptions& options, const std::string& transport, const std::string& operation,
                 std::uint64_t bytes) {
  return {.transport = transport,
          .operation = operation,
          .message_bytes = bytes,
          .count = options.count,
          .duration_ns = options.duration_ns,
          .slots = slots_for(options, bytes),
          .rate_per_s = operation == "latency" ? options.rate_per_s : 0,
          .wait = transport == socket_transport ? WaitMode::block : options.wait,
          .touches_payload = options.touches_payload,
          .is_reverse = options.is_reverse,
          .is_remote = options.endpoint.dial.has_value()};
}

}  // namespace

namespace {

/// The links that can be measured, those first which every machine has.
std::vector<LinkKind> links_here(const EndpointOptions& endpoint) {
  std::vector<LinkKind> links = usable_links(endpoint);
  std::erase_if(links, [&](LinkKind kind) {
    // A server that the user has started may be on another machine.
    return (endpoint.dial && traits(kind).needs_same_host) || !link_provider(kind).is_available();
  });
  std::stable_partition(links.begin(), links.end(), [](LinkKind kind) { return traits(kind).missing.empty(); });
  return links;
}

}  // namespace

std::vector<std::string> transports_here(const BenchOptions& options) {
  if (!options.transports.empty()) {
    return options.transports;
  }
  const std::vector<LinkKind> links = links_here(options.endpoint);
  std::vector<std::string> transports;
  std::ranges::transform(links, std::back_inserter(transports), [](LinkKind kind) { return std::string(name(kind)); });
  if (!options.is_reverse && !options.endpoint.encrypt) {  // sockets and verbs do neither
    transports.insert(transports.begin(), socket_transport);
    if (std::ranges::find(links, link_of_verbs) != links.end()) {
      transports.emplace_back(verbs_transport);
    }
  }
  return transports;
}

std::vector<RowPlan> plan_rows(const BenchOptions& options, const std::vector<std::string>& transports) {
  std::vector<RowPlan> rows;
  for (const std::string& operation : options.operations) {
    for (const std::uint64_t bytes : options.message_sizes_bytes) {
      for (const std::string& transport : transports) {
        if (can_do(transport, operation)) {
          rows.push_back(plan_row(options, transport, operation, bytes));
        }
      }
    }
  }
  if (rows.empty()) {
    throw Error::usage(
        "--operation names nothing that --transport does: verbs has send, write, write_imm, read and "
        "latency, the others have stream and latency");
  }
  return rows;
}

}  // namespace framewire
