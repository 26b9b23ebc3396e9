// The "host" part of the JSON report, and the commands that fix the path to another machine.
#include "doctor/host_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "command/json_text.hpp"
#include "command/shell_word.hpp"
#include "doctor/check_host.hpp"
#include "transport/address.hpp"

namespace framewire {

namespace {

using Json = nlohmann::ordered_json;

Json measured_json(const Measurement& measured) {
  const bool is_done = measured.is_done();
  return {{"gigabytes_per_second", is_done ? Json(measured.gigabytes_per_second) : Json(nullptr)},
          {"messages", measured.count},
          {"trouble", text_or_null(measured.trouble)}};
}

Json latency_json(const Measurement& measured) {
  const bool is_done = measured.is_done();
  return {{"p50_us", is_done ? Json(measured.latency_p50_us) : Json(nullptr)},
          {"p99_us", is_done ? Json(measured.latency_p99_us) : Json(nullptr)},
          {"messages", measured.count},
          {"trouble", text_or_null(measured.trouble)}};
}

Json link_json(const LinkMeasurements& link) {
  return {{"transport", name(link.link)},
          {"works", link.works()},
          {"not_tried", text_or_null(link.not_tried)},
          {"latency", latency_json(link.latency)},
          {"forward", measured_json(link.there)},
          {"reverse", measured_json(link.back)}};
}

}  // namespace

const char* name(HostFault fault) noexcept {
  switch (fault) {
    case HostFault::none:
      return "none";
    case HostFault::unknown_name:
      return "unknown_name";
    case HostFault::nothing_listens:
      return "nothing_listens";
    case HostFault::silent:
      return "silent";
    case HostFault::no_route:
      return "no_route";
    case HostFault::bad_key_here:
      return "bad_key_here";
    case HostFault::no_key_here:
      return "no_key_here";
    case HostFault::key_refused:
      return "key_refused";
    case HostFault::not_framewire:
      return "not_framewire";
    case HostFault::sender:
      return "sender";
    case HostFault::viewer:
      return "viewer";
    case HostFault::version:
      return "version";
    case HostFault::busy:
      return "busy";
    case HostFault::no_bench_here:
      return "no_bench_here";
    case HostFault::other:
      return "other";
  }
  return "other";
}

Json host_json(const RemoteHostReport& host) {
  Json links = Json::array();
  for (const LinkMeasurements& link : host.links) {
    links.push_back(link_json(link));
  }
  // With --transport only that link was measured, so nothing is known about auto.
  const auto chosen = host.links.size() > 1 ? auto_choice(host) : std::nullopt;
  return {{"name", host.target.at.host},
          {"port", host.target.at.port},
          {"address", text_or_null(host.address)},
          {"is_this_machine", host.is_this_machine},
          {"round_trip_us", host.round_trip_us ? Json(*host.round_trip_us) : Json(nullptr)},
          {"authentication", text_or_null(host.auth)},
          {"control", text_or_null(host.control)},
          {"program", text_or_null(host.program)},
          {"fault", host.fault == HostFault::none ? Json(nullptr) : Json(name(host.fault))},
          {"trouble", text_or_null(host.trouble.empty() ? host.left : host.trouble)},
          {"links", links},
          {"auto", chosen ? Json(name(*chosen)) : Json(nullptr)}};
}

namespace {

/// A command as one shell word. Uses double quotes if the command contains nothing special within them: single quotes
/// in it stay readable.
std::string command_word(const std::string& command) {
  const bool is_simple = command.find_first_of("\"$`\\!") == std::string::npos;
  return command.find('\'') != std::string::npos && is_simple ? fmt::format("\"{}\"", command) : shell_word(command);
}

/// A command that runs `command` on the other machine.
std::string over_there(const RemoteHostReport& host, const std::string& command, bool has_terminal) {
  if (host.is_own_address) {
    return command;
  }
  return fmt::format("ssh {}{} {}", has_terminal ? "-t " : "", shell_word(host.target.at.host), command_word(command));
}

std::string key_options(const RemoteHostReport& host) {
  return host.target.key_file ? " --file " + shell_word(*host.target.key_file) : "";
}

}  // namespace

std::string start_server(const RemoteHostReport& host, std::uint16_t port) {
  const std::string listen = host.is_own_address ? fmt::format(":{}", port) : fmt::format("'*:{}'", port);
  return over_there(
      host, fmt::format("framewire bench --listen {}{}", listen, host.target.insecure ? " --insecure" : ""), true);
}

Commands start_server_with_key(const RemoteHostReport& host, const MachineFacts& machine) {
  Commands commands;
  if (!host.is_own_address && !host.target.insecure && !host.target.key_file && !machine.key.exists) {
    commands = share_key(host, false);
  }
  commands.push_back(start_server(host, host.target.at.port));
  return commands;
}

Commands share_key(const RemoteHostReport& host, bool has_key) {
  Commands commands;
  if (!has_key) {
    commands.push_back("framewire key" + key_options(host));
  }
  if (!host.is_own_address) {
    commands.push_back(fmt::format("framewire key{} --export | ssh {} framewire key --import -", key_options(host),
                                   shell_word(host.target.at.host)));
  }
  return commands;
}

Commands open_port(std::uint16_t port, std::string_view protocol, std::string_view where) {
  return {
      fmt::format("sudo nft insert rule inet filter input {} dport {} accept   # nftables, {}", protocol, port, where),
      fmt::format("sudo firewall-cmd --permanent --add-port={}/{} && sudo firewall-cmd --reload   # firewalld", port,
                  protocol),
      fmt::format("sudo ufw allow {}/{}   # ufw", port, protocol)};
}

std::string examine_at(const RemoteHostReport& host, std::uint16_t port) {
  const HostPort at{.host = host.target.at.host, .port = port};
  return fmt::format("framewire doctor {}{}{}", shell_word(format_host_port(at)),
                     host.target.key_file ? " --key " + shell_word(*host.target.key_file) : "",
                     host.target.insecure ? " --insecure" : "");
}

std::uint16_t other_port(std::uint16_t port) noexcept {
  // 5291 is the default port of bytes.
  return static_cast<std::uint16_t>(port == default_frame_port ? default_bytes_port + 1
                                                               : (port == UINT16_MAX ? port - 1 : port + 1));
}

}  // namespace framewire
