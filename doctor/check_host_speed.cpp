// Whether a link is as fast as what it goes through, and as fast back as there.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "doctor/check_host.hpp"
#include "doctor/host_remedies.hpp"

namespace framewire {

namespace {

constexpr double fair_share = 0.5;  // of an interface's speed, and of the faster way's: less is worth a word
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
  Finding finding{
      .name = fmt::format("{} speed", name(link.link)),
      .level = Level::warning,
      .value = fmt::format("{:.0f} % of what {} can move ({:.3g} GB/s)", best / could * 100, interface.name, could)};
  finding.text = "Other traffic, busy processors and virtual machines take their share.";
  const std::uint64_t buffer_bytes = std::min(machine.network.tcp_receive_bytes.value_or(UINT64_MAX),
                                              machine.network.tcp_send_bytes.value_or(UINT64_MAX));
  if (link.link == LinkKind::tcp && buffer_bytes < in_flight_bytes(host, interface)) {
    finding.text +=
        fmt::format(" Over this round trip {} are under way, and the kernel gives {} here; on both machines:",
                    format_bytes(in_flight_bytes(host, interface)), format_bytes(buffer_bytes));
    finding.remedy = {
        "printf 'net.ipv4.tcp_%s=4096 131072 33554432\\n' rmem wmem | sudo tee /etc/sysctl.d/90-framewire.conf",
        "sudo sysctl --system"};
  } else if (interface.mtu_bytes < jumbo_mtu_bytes) {
    finding.text += fmt::format(
        " Packets of {} bytes cost more than large ones; on both machines, where the switches "
        "between them take that:",
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
        "RDMA pays for every lost packet with many. Flow control keeps them, on both machines and the "
        "switches between them:";
    finding.remedy = {fmt::format("sudo ethtool -A {} rx on tx on", interface.name)};
  } else {
    finding.text =
        "Lost packets on the slower way are the usual reason: a cable, a switch or a duplex that was set by "
        "hand. What was lost, and a new agreement on speed and duplex, on both machines:";
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
  // Within one machine it is its processors that are measured.
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

}  // namespace framewire
