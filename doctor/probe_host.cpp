// Probes another machine: which program answers there, and the rows of framewire bench that measure its links.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "doctor/probe.hpp"
#include "transport/address.hpp"
#include "transport/control/authenticate.hpp"
#include "transport/control/dial.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/json_fields.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/messages.hpp"

namespace framewire {

namespace {

constexpr std::int64_t knock_timeout_ns = 3 * ns_per_s;
constexpr std::int64_t greeting_timeout_ns = 5 * ns_per_s;

/// An error with the fault that it means for the report.
class Obstacle : public Error {
 public:
  Obstacle(HostFault fault, const Error& why) : Error(why), fault_(fault) {}
  [[nodiscard]] HostFault fault() const noexcept { return fault_; }

 private:
  HostFault fault_;
};

HostFault fault_of(int error_number) {
  switch (error_number) {
    case ECONNREFUSED:
      return HostFault::nothing_listens;
    case ETIMEDOUT:
      return HostFault::silent;
    case ENETUNREACH:
    case EHOSTUNREACH:
      return HostFault::no_route;
    default:
      return HostFault::other;
  }
}

std::string without_port(const SocketAddress& address) {
  return parse_host_port(format_address(address), 0).host;
}

/// Makes one TCP handshake and measures its time. Returns 0, or an errno value.
int knock(const SocketAddress& address, std::int64_t deadline_ns, RemoteHostReport& host) {
  const std::int64_t begin_ns = monotonic_ns();
  int error = 0;
  const FileDescriptor fd = connect_to(address, deadline_ns, error);
  if (error == 0) {
    host.round_trip_us = static_cast<double>(monotonic_ns() - begin_ns) / 1e3;
    host.address = without_port(address);
    if (const auto here = own_address_of(fd.get())) {
      host.address_here = without_port(*here);
    }
  }
  return error;
}

/// Tries all addresses, as dial() does. The first one that answers gives the round-trip time; if none does, the last
/// error gives the fault.
HostFault knock_at_all(const HostPort& at, RemoteHostReport& host) {
  std::vector<SocketAddress> addresses;
  try {
    addresses = resolve(at);
  } catch (const Error& error) {
    throw Obstacle(HostFault::unknown_name, error);
  }
  host.is_own_address = std::ranges::any_of(addresses, is_this_host);
  HostFault fault = HostFault::none;
  const std::int64_t deadline_ns = monotonic_ns() + knock_timeout_ns;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::int64_t now_ns = monotonic_ns();
    const auto left = static_cast<std::int64_t>(addresses.size() - i);
    const int error = knock(addresses[i], now_ns + std::max<std::int64_t>(0, deadline_ns - now_ns) / left, host);
    if (error == 0) {
      return HostFault::none;
    }
    fault = fault_of(error);
  }
  return fault;
}

AuthenticateOptions authentication_of(const HostTarget& target) {
  EndpointOptions endpoint;
  endpoint.key_file = target.key_file;
  endpoint.insecure = target.insecure;
  try {
    AuthenticateOptions options = framewire::authentication_of(endpoint);
    options.timeout_ns = greeting_timeout_ns;
    return options;
  } catch (const Error& error) {
    throw Obstacle(HostFault::bad_key_here, error);
  }
}

HostFault fault_of(const Error& error) {
  if (error.status() == ExitStatus::refused) {
    // The status is the same for keys and versions; only the text differs.
    const std::string_view said = error.what();
    const bool is_version = said.find("of the control protocol") != std::string_view::npos ||
                            said.find("bring both to the same release") != std::string_view::npos;
    return is_version ? HostFault::version : HostFault::key_refused;
  }
  return error.status() == ExitStatus::lost_peer ? HostFault::other : HostFault::not_framewire;
}

/// Without a key only the Unix socket is possible, which another machine does not have.
[[noreturn]] void throw_no_key(const Error& error, const RemoteHostReport& host) {
  if (host.is_own_address) {
    throw Obstacle(
        HostFault::not_framewire,
        Error::failed("the program at that port of this machine is not framewire, or belongs to another user"));
  }
  throw Obstacle(HostFault::no_key_here, error);
}

AuthenticatedChannel come_in(const RemoteHostReport& host, const AuthenticateOptions& options,
                             HostFault if_not_reached) {
  std::optional<DialledSocket> dialled;
  try {
    dialled = dial(host.target.at, monotonic_ns() + knock_timeout_ns);
  } catch (const Error& error) {
    const bool is_closed = if_not_reached == HostFault::none;  // it has answered before
    throw Obstacle(is_closed ? HostFault::other : if_not_reached, error);
  }
  const bool has_no_key = !dialled->is_unix && !options.key && !options.insecure;
  try {
    return authenticate_dialler(std::move(*dialled), options);
  } catch (const Error& error) {
    if (has_no_key) {
      throw_no_key(error, host);
    }
    throw Obstacle(fault_of(error), error);
  }
}

/// Sends hello as a client of framewire bench, and reads which program is there.
void hear_who(MessageChannel& channel, RemoteHostReport& host) {
  HelloMessage peer;
  try {
    channel.send(to_json(HelloMessage{.role = "bench", .program = "framewire-doctor " FRAMEWIRE_VERSION}));
    peer = read_hello(channel.receive(monotonic_ns() + greeting_timeout_ns));
  } catch (const Error& error) {
    throw Obstacle(error.status() == ExitStatus::refused ? HostFault::busy : HostFault::other, error);
  }
  host.program = peer.program;
  if (std::ranges::find(peer.versions, session_version) == peer.versions.end()) {
    throw Obstacle(HostFault::version, Error::failed("no session version in common with " + peer.program));
  }
  if (!peer.program.starts_with("framewire-bench") || peer.role != "viewer") {
    throw Obstacle(peer.role == "sender" ? HostFault::sender : HostFault::viewer,
                   Error::failed(peer.program + " answers there, not framewire bench"));
  }
}

}  // namespace

RemoteHostReport greet_host(const HostTarget& target) {
  RemoteHostReport host;
  host.target = target;
  try {
    const AuthenticateOptions options = authentication_of(target);
    const HostFault knocked = knock_at_all(target.at, host);
    const AuthenticatedChannel authenticated = come_in(host, options, knocked);
    host.is_this_machine = authenticated.is_unix;
    host.auth = authenticated.auth;
    host.control = authenticated.control;
    hear_who(*authenticated.channel, host);
    if (::access((own_folder() + "framewire-bench").c_str(), X_OK) != 0) {
      throw Obstacle(HostFault::no_bench_here, Error::failed("framewire-bench is not installed beside this program"));
    }
  } catch (const Obstacle& obstacle) {
    host.fault = obstacle.fault();
    host.trouble = obstacle.what();
  } catch (const std::exception& error) {
    host.fault = HostFault::other;
    host.trouble = error.what();
  }
  return host;
}

// ---- The rows of framewire bench that the doctor needs for each link, and their output ----

namespace {

using Json = nlohmann::json;

// A row may end late: at its end 16 MB are in flight, which take 13 s at 10 Mb/s.
constexpr std::int64_t row_timeout_ns = 20 * ns_per_s;
constexpr const char* latency_bytes = "64";
constexpr const char* burst_bytes = "4M";

std::string_view operation_of(const HostRow& row) {
  return row.is_latency ? "latency" : "stream";
}

/// A number that is not negative, or 0.
double number_of(const Json& json, const char* field) {
  return std::max(find_number(json, field).value_or(0), 0.0);
}

bool is_text(const Json& json, const char* field, std::string_view wanted) {
  const std::string* text = find_text(json, field);
  return text != nullptr && *text == wanted;
}

/// The last line of a program's standard error, without the program's name.
std::string last_line_of(std::string_view complaint) {
  while (!complaint.empty() && (complaint.back() == '\n' || complaint.back() == ' ')) {
    complaint.remove_suffix(1);
  }
  complaint.remove_prefix(complaint.rfind('\n') + 1);  // npos + 1 is 0
  constexpr std::string_view name = "framewire-bench: ";
  if (complaint.starts_with(name)) {
    complaint.remove_prefix(name.size());
  }
  constexpr std::size_t longest = 600;
  const std::string in_quotes = quote(complaint, longest);
  return in_quotes.substr(1, in_quotes.size() - 2);
}

LinkMeasurements not_tried(LinkKind link, const std::string& why) {
  return {.link = link, .not_tried = why, .latency = {}, .there = {}, .back = {}};
}

/// Why the link cannot be tried; empty: it can.
std::string unusable_reason(LinkKind link, const RemoteHostReport& host, const MachineFacts& machine) {
  if (traits(link).needs_same_host && !host.is_this_machine) {
    return "it needs the same user on the same machine";
  }
  const auto has_device = [](const RdmaAdapter& adapter) { return adapter.device.has_value(); };
  if (link == LinkKind::rdma && std::ranges::none_of(machine.rdma.adapters, has_device)) {
    return "no RDMA device here";
  }
  const auto& others = machine.links.others;
  const auto other = std::ranges::find(others, link, &OtherLink::link);
  return other != others.end() && !other->missing.empty() ? other->missing + " here" : "";
}

}  // namespace

std::vector<std::string> bench_arguments(const HostTarget& target, const HostRow& row) {
  std::vector<std::string> arguments{format_host_port(target.at),
                                     "--json",
                                     "--transport",
                                     std::string(name(row.link)),
                                     "--operation",
                                     std::string(operation_of(row)),
                                     "--message-bytes",
                                     row.is_latency ? latency_bytes : burst_bytes,
                                     "--duration",
                                     row.is_latency ? "200ms" : "500ms"};
  if (row.is_reverse) {
    arguments.emplace_back("--reverse");
  }
  if (target.key_file) {
    arguments.insert(arguments.end(), {"--key", *target.key_file});
  }
  if (target.insecure) {
    arguments.emplace_back("--insecure");
  }
  if (!target.timeout.empty()) {
    arguments.insert(arguments.end(), {"--timeout", target.timeout});
  }
  return arguments;
}

Measurement read_bench_output(const ChildOutput& output, const HostRow& row) {
  Measurement measured;
  measured.is_late = output.is_late;
  measured.has_lost_peer = output.exit_status == static_cast<int>(ExitStatus::lost_peer);
  if (!output.has_ended_well) {
    const std::string last_line = output.is_late ? "" : last_line_of(output.complaint);
    measured.trouble = last_line.empty() ? "framewire-bench: " + output.trouble : last_line;
    return measured;
  }
  measured.trouble = "framewire-bench printed no row of this link that can be read; is it of the same release?";
  const Json json = Json::parse(output.text, nullptr, false);
  const Json* results = find_array(json, "results", 1);
  if (results == nullptr || results->empty()) {
    return measured;
  }
  const Json& result = results->front();
  const Json* latency = find_object(result, "latency_us");
  if (!is_text(result, "transport", name(row.link)) || !is_text(result, "operation", operation_of(row)) ||
      !is_text(result, "direction", row.is_reverse ? "reverse" : "forward") || latency == nullptr) {
    return measured;
  }
  measured.gigabytes_per_second = number_of(result, "gigabytes_per_second");
  measured.latency_p50_us = number_of(*latency, "p50");
  measured.latency_p99_us = number_of(*latency, "p99");
  measured.count = static_cast<std::uint64_t>(std::min(number_of(result, "count"), 1e15));
  if (measured.is_done()) {
    measured.trouble.clear();
  }
  return measured;
}

RunRow bench_runner(const HostTarget& target, std::function<void(const HostRow&)> progress) {
  return [target, progress = std::move(progress)](const HostRow& row) {
    progress(row);
    return read_bench_output(
        child_output(own_folder() + "framewire-bench", bench_arguments(target, row), row_timeout_ns), row);
  };
}

void measure_links(RemoteHostReport& host, const MachineFacts& machine, std::optional<LinkKind> wanted,
                   const RunRow& run, const std::function<std::string()>& is_there) {
  for (const LinkKind link : links_best_first()) {
    if (wanted.value_or(link) != link) {
      continue;
    }
    const std::string why = host.left.empty() ? unusable_reason(link, host, machine) : "the server went away before";
    host.links.push_back(not_tried(link, why));
    LinkMeasurements& measured = host.links.back();
    if (!why.empty()) {
      continue;
    }
    // First from there to here: then this side is the viewer, which dials the link and knows best why it fails.
    for (const auto& [field, row] :
         {std::pair(&measured.latency, HostRow{.link = link, .is_latency = true, .is_reverse = true}),
          std::pair(&measured.there, HostRow{.link = link}),
          std::pair(&measured.back, HostRow{.link = link, .is_reverse = true})}) {
      *field = run(row);
      if (field->has_lost_peer) {
        host.left = is_there();
      }
      // A link that connects carries bursts in at least one direction. One that does not would only time out again.
      if (!host.left.empty() || field->is_late || !measured.connects()) {
        break;
      }
    }
  }
}

}  // namespace framewire
