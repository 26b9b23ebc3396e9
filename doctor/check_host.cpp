// The findings about the route to another machine: whether it is reachable, how fast its links are, and the commands
// that fix them.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "base/bandwidth.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "command/shell_word.hpp"
#include "doctor/check.hpp"
#include "transport/address.hpp"

namespace framewire {

namespace {

std::string path_area(const RemoteHostReport& host) {
  return "Path to " + format_host_port(host.target.at);
}

std::string place_of(const RemoteHostReport& host) {
  return host.is_own_address ? "here" : "on " + host.target.at.host;
}

Finding reached(const RemoteHostReport& host) {
  Finding finding{.area = path_area(host), .name = "host"};
  if (host.is_this_machine) {
    finding.value = "this machine, by the Unix socket of this user";
  } else {
    finding.value =
        host.address == host.target.at.host ? host.address : fmt::format("{} is {}", host.target.at.host, host.address);
    if (host.round_trip_us) {
      finding.value += ", round trip " + time_text(*host.round_trip_us);
    }
  }
  return finding;
}

Finding authenticated(const RemoteHostReport& host) {
  Finding finding{.area = path_area(host), .name = "authentication"};
  finding.value = host.auth == "psk"    ? fmt::format("the shared key, {}", host.control)
                  : host.auth == "user" ? "the same user"
                                        : "none";
  if (host.auth == "none") {
    finding.level = Level::note;
    finding.text = "Anybody may connect and read along. A key on both machines prevents that:";
    finding.remedy = share_key(host, false);
  }
  return finding;
}

Finding problem(const RemoteHostReport& host, const char* name, const std::string& value, const std::string& text,
                Commands remedy) {
  return {.area = path_area(host),
          .name = name,
          .level = Level::problem,
          .value = value,
          .text = text,
          .details = {},
          .remedy = std::move(remedy)};
}

// ---- Why there is no connection ----

Finding unknown_name(const RemoteHostReport& host) {
  return problem(host, "host", fmt::format("{}: a name that nobody knows", host.target.at.host),
                 "Neither /etc/hosts nor a name server knows it. For instance, enter its address:",
                 {fmt::format("echo '192.168.77.2 {}' | sudo tee -a /etc/hosts", host.target.at.host)});
}

Finding nothing_listens(const RemoteHostReport& host, const MachineFacts& machine) {
  return problem(host, "server", fmt::format("nothing listens at port {}", host.target.at.port),
                 fmt::format("The doctor measures against a bench server, and none runs {}. (A firewall that rejects "
                             "looks the same.) Start it with:",
                             place_of(host)),
                 start_server_with_key(host, machine));
}

Finding silent(const RemoteHostReport& host) {
  const std::uint16_t port = host.target.at.port;
  return problem(host, "host", "does not answer",
                 fmt::format("TCP port {} does not answer: the machine is off, the address is wrong, or a firewall "
                             "drops the packets. To open it, {}:",
                             port, place_of(host)),
                 open_port(port, "tcp", place_of(host)));
}

Finding no_route(const RemoteHostReport& host, const MachineFacts& machine) {
  const auto found = std::ranges::find_if(machine.network.interfaces,
                                          [](const NetworkInterface& one) { return !one.is_loopback && one.is_up; });
  return problem(host, "host", "no route to it",
                 "This machine has no route to that network. For instance, give it an address there:",
                 {fmt::format("sudo ip address add 192.168.77.1/24 dev {}",
                              found == machine.network.interfaces.end() ? "eth0" : found->name)});
}

Finding cannot_be_examined(const RemoteHostReport& host, const MachineFacts& machine) {
  return problem(host, host.address.empty() ? "host" : "server", "cannot be examined", host.trouble + ".",
                 start_server_with_key(host, machine));
}

// ---- Why it does not let this machine in ----

/// Only the text tells what is wrong with it.
Finding bad_key(const RemoteHostReport& host, const MachineFacts& machine) {
  const auto is_because = [&](std::string_view why) { return host.trouble.find(why) != std::string::npos; };
  Commands remedy;
  if (is_because("can be read by others")) {
    remedy = {"chmod 600 " + shell_word(host.target.key_file ? *host.target.key_file : machine.key.path)};
  } else if (is_because(errno_text(ENOENT))) {
    remedy = share_key(host, false);
  }
  return problem(host, "authentication", "the key here cannot be used", host.trouble + ".", std::move(remedy));
}

Finding no_key(const RemoteHostReport& host) {
  return problem(host, "authentication", "no key here",
                 "Two machines need the same key. Make it and copy it with:", share_key(host, false));
}

Finding key_refused(const RemoteHostReport& host, const MachineFacts& machine) {
  Commands remedy = share_key(host, machine.key.exists || host.target.key_file);
  if (!remedy.empty()) {
    remedy.back() += "   # with --force where it has another key";
  }
  return problem(host, "authentication", "refused",
                 host.trouble + ". To give it this machine's key:", std::move(remedy));
}

// ---- What answers instead of a bench server ----

Commands start_beside(const RemoteHostReport& host) {
  const std::uint16_t beside = other_port(host.target.at.port);
  return {start_server(host, beside), examine_at(host, beside)};
}

/// `who`: "framewire send".
Finding no_server(const RemoteHostReport& host, const char* who) {
  return problem(host, "server", host.program,
                 fmt::format("{} answers there, and measures nothing. Start a bench server {} at another port:", who,
                             place_of(host)),
                 start_beside(host));
}

Finding another_program(const RemoteHostReport& host) {
  return problem(host, "server", "another program",
                 host.trouble + ". Start framewire at another port and examine that:", start_beside(host));
}

Finding another_version(const RemoteHostReport& host) {
  return problem(host, "server", host.program.empty() ? "another version" : host.program,
                 host.trouble + ". Both ends need the same release; to see which one it has:",
                 {host.is_own_address ? "framewire --version"
                                      : fmt::format("ssh {} framewire --version", shell_word(host.target.at.host))});
}

Finding busy(const RemoteHostReport& host) {
  return problem(host, "server", "busy",
                 host.trouble + ". When it is free again:", {examine_at(host, host.target.at.port)});
}

Finding no_bench_here(const RemoteHostReport& host) {
  return problem(host, "programs", "framewire-bench is missing",
                 "It measures the links. Install all programs of framewire in one folder; in its source tree:",
                 {"scripts/package && sudo apt-get install ./build/packages/*.deb"});
}

/// Behind the handshake: with the authentication, if it came to that.
Findings behind_handshake(const RemoteHostReport& host, Finding finding) {
  Findings findings{reached(host)};
  if (!host.auth.empty()) {
    findings.push_back(authenticated(host));
  }
  findings.push_back(std::move(finding));
  return findings;
}

}  // namespace

Findings check_route(const RemoteHostReport& host, const MachineFacts& machine) {
  switch (host.fault) {
    case HostFault::none:
      break;
    case HostFault::unknown_name:
      return {unknown_name(host)};
    case HostFault::nothing_listens:
      return {nothing_listens(host, machine)};
    case HostFault::silent:
      return {silent(host)};
    case HostFault::no_route:
      return {no_route(host, machine)};
    case HostFault::bad_key_here:
      return {bad_key(host, machine)};
    case HostFault::no_key_here:
      return {reached(host), no_key(host)};
    case HostFault::key_refused:
      return {reached(host), key_refused(host, machine)};
    case HostFault::not_framewire:
      return {reached(host), another_program(host)};
    case HostFault::sender:
      return behind_handshake(host, no_server(host, "framewire send"));
    case HostFault::viewer:
      return behind_handshake(host, no_server(host, "A viewer"));
    case HostFault::version:
      return behind_handshake(host, another_version(host));
    case HostFault::busy:
      return behind_handshake(host, busy(host));
    case HostFault::no_bench_here:
      return behind_handshake(host, no_bench_here(host));
    case HostFault::other:
      return host.address.empty() ? Findings{cannot_be_examined(host, machine)}
                                  : Findings{reached(host), cannot_be_examined(host, machine)};
  }
  return {reached(host), authenticated(host),
          Finding{.area = path_area(host), .name = "server", .value = host.program}};
}

Findings check_host(const RemoteHostReport& host, const MachineFacts& machine, std::optional<LinkKind> wanted) {
  Findings findings = check_route(host, machine);
  if (host.fault == HostFault::none) {
    std::ranges::move(check_host_links(host, machine, wanted), std::back_inserter(findings));
  }
  return findings;
}

Findings as_background(Findings machine) {
  for (Finding& finding : machine) {
    finding.level = std::min(finding.level, Level::warning);
  }
  return machine;
}

// ---- Speed: compared with the network interface, and both directions compared with each other ----

namespace {

constexpr double fair_share = 0.5;  // of the interface's speed, or of the faster direction's; less is reported
constexpr std::uint32_t jumbo_mtu_bytes = 9000;

const NetworkInterface* interface_of(const RemoteHostReport& host, const MachineFacts& machine) {
  const auto found = std::ranges::find_if(machine.network.interfaces, [&](const NetworkInterface& one) {
    return !one.is_loopback && std::ranges::find(one.addresses, host.address_here) != one.addresses.end();
  });
  return found == machine.network.interfaces.end() ? nullptr : &*found;
}

double gigabytes_per_second(const NetworkInterface& interface) {
  return interface.megabits_per_second.value_or(0) / 8e3;
}

/// The bandwidth-delay product (RFC 7323, 1.1); 0: not known.
std::uint64_t in_flight_bytes(const RemoteHostReport& host, const NetworkInterface& interface) {
  return static_cast<std::uint64_t>(gigabytes_per_second(interface) * host.round_trip_us.value_or(0) * 1e3);
}

std::optional<Finding> slow_finding(const RemoteHostReport& host, const MachineFacts& machine,
                                    const LinkMeasurements& link, const NetworkInterface& interface) {
  const double could = gigabytes_per_second(interface);
  const double best = std::max(link.there.gigabytes_per_second, link.back.gigabytes_per_second);
  if (could <= 0 || best <= 0 || best >= fair_share * could) {
    return std::nullopt;
  }
  Finding finding{.name = fmt::format("{} speed", name(link.link)),
                  .level = Level::warning,
                  .value = fmt::format("{:.0f} % of what {} can move ({})", best / could * 100, interface.name,
                                       format_bandwidth(could * 1e9))};
  finding.text = "Other traffic, busy processors and virtual machines take their share.";
  const std::uint64_t buffer_bytes = std::min(machine.network.tcp_receive_bytes.value_or(UINT64_MAX),
                                              machine.network.tcp_send_bytes.value_or(UINT64_MAX));
  if (link.link == LinkKind::tcp && buffer_bytes < in_flight_bytes(host, interface)) {
    finding.text +=
        fmt::format(" This round trip keeps {} in flight, and the kernel's buffers hold {} here. Run on both machines:",
                    format_bytes(in_flight_bytes(host, interface)), format_bytes(buffer_bytes));
    finding.remedy = {
        "printf 'net.ipv4.tcp_%s=4096 131072 33554432\\n' rmem wmem | sudo tee /etc/sysctl.d/90-framewire.conf",
        "sudo sysctl --system"};
  } else if (interface.mtu_bytes < jumbo_mtu_bytes) {
    finding.text +=
        fmt::format(" Large packets cost less than these of {} bytes; on both machines, if the switches take them:",
                    interface.mtu_bytes);
    finding.remedy = {fmt::format("sudo ip link set dev {} mtu {}", interface.name, jumbo_mtu_bytes)};
  }
  return finding;
}

std::optional<Finding> uneven_finding(const LinkMeasurements& link, const NetworkInterface& interface) {
  const double there = link.there.gigabytes_per_second;
  const double back = link.back.gigabytes_per_second;
  if (std::min(there, back) <= 0 || std::min(there, back) >= fair_share * std::max(there, back)) {
    return std::nullopt;
  }
  Finding finding{.name = fmt::format("{} directions", name(link.link)),
                  .level = Level::warning,
                  .value = fmt::format("{} is {:.2g} times as fast as {}", there > back ? "there" : "back",
                                       std::max(there, back) / std::min(there, back), there > back ? "back" : "there")};
  if (link.link == LinkKind::rdma) {
    finding.text =
        "RDMA repeats many packets for each lost one. Flow control prevents losses; on both machines and the switches:";
    finding.remedy = {fmt::format("sudo ethtool -A {} rx on tx on", interface.name)};
  } else {
    finding.text =
        "The slower direction usually loses packets: a cable, a switch, or a fixed duplex. Count them, and negotiate "
        "speed and duplex again, on both machines:";
    finding.remedy = {fmt::format("ip -s link show dev {}", interface.name),
                      fmt::format("sudo ethtool -r {}", interface.name)};
  }
  return finding;
}

}  // namespace

Findings check_speed(const RemoteHostReport& host, const MachineFacts& machine, const LinkMeasurements& link,
                     const std::string& area) {
  Findings findings;
  const NetworkInterface* interface = interface_of(host, machine);
  // Within one machine the processors limit the speed, not an interface.
  if (host.is_own_address || interface == nullptr || !link.works()) {
    return findings;
  }
  for (auto& finding : {slow_finding(host, machine, link, *interface), uneven_finding(link, *interface)}) {
    if (finding) {
      findings.push_back(*finding);
      findings.back().area = area;
    }
  }
  return findings;
}

// ---- The commands that fix the route ----

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
