// The findings about the links between two machines, derived from the measurements.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/bandwidth.hpp"
#include "command/shell_word.hpp"
#include "doctor/check.hpp"
#include "transport/address.hpp"

namespace framewire {

namespace {

constexpr std::uint16_t roce_port = 4791;  // RoCE v2: InfiniBand Architecture Specification, annex A17

std::string speed_text(const Measurement& measured) {
  // The rate is 0 if there were too few messages to time them.
  return measured.gigabytes_per_second > 0 ? format_bandwidth(measured.gigabytes_per_second * 1e9) : "works";
}

/// "1.1 GB/s there, 1.2 GB/s back, 64 bytes in 21 µs", without the rows that are missing.
std::string measured_text(const LinkMeasurements& link) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  const bool has_rate = !traits(link.link).shares_memory;  // no frame is copied: its rate means nothing
  if (!has_rate && link.works()) {
    add("frames stay where they are");
  }
  if (has_rate && link.there.is_done()) {
    add(speed_text(link.there) + " there");
  }
  if (has_rate && link.back.is_done()) {
    add(speed_text(link.back) + " back");
  }
  if (link.latency.is_done()) {
    add("64 bytes in " + time_text(link.latency.latency_p50_us));
  }
  return text;
}

std::string trouble_text(const LinkMeasurements& link) {
  std::string text;
  for (const auto& [measured, what] :
       {std::pair(&link.latency, "Small messages"), std::pair(&link.there, "A burst there"),
        std::pair(&link.back, "A burst back")}) {
    if (!measured->trouble.empty()) {
      text += fmt::format("{}{}: {}.", text.empty() ? "" : " ", what, measured->trouble);
    }
  }
  return text;
}

bool says(const LinkMeasurements& link, std::string_view word) {
  return std::ranges::any_of(std::array{&link.latency, &link.there, &link.back},
                             [&](const Measurement* one) { return one->trouble.find(word) != std::string::npos; });
}

Commands examine_both(const RemoteHostReport& host, LinkKind link) {
  const std::string command = fmt::format("framewire doctor --transport {}", name(link));
  Commands commands{command};
  if (!host.is_own_address) {
    commands.push_back(fmt::format("ssh {} {}", shell_word(host.target.at.host), command));
  }
  return commands;
}

/// Sets the remedy for a link that failed, and explains it in the text if needed.
void mend(const RemoteHostReport& host, const LinkMeasurements& link, Finding& finding) {
  if (says(link, "4791")) {
    finding.text += " RoCE v2 is UDP to port 4791, which both machines have to let in:";
    finding.remedy = open_port(roce_port, "udp", "on both machines");
  } else if (says(link, "ulimit -l")) {
    finding.text +=
        " RDMA locks its memory, and the limit is too low at one end. Raise it there and restart the program:";
    finding.remedy = {
        "ulimit -l unlimited   # this shell, at once",
        "echo '* - memlock unlimited' | sudo tee /etc/security/limits.d/90-framewire.conf   # every login "
        "from the next on"};
  } else if (says(link, "older release")) {
    finding.remedy = {host.is_own_address ? "framewire --version"
                                          : fmt::format("ssh {} framewire --version", shell_word(host.target.at.host))};
  } else if (!traits(link.link).missing.empty()) {
    finding.text += " What each machine has for it:";
    finding.remedy = examine_both(host, link.link);
  } else if (!host.left.empty()) {
    finding.remedy = {start_server(host, host.target.at.port)};
  }
}

Finding link_finding(const RemoteHostReport& host, const LinkMeasurements& link, Level fault_level) {
  Finding finding{.area = host_links_area(host), .name = std::string(name(link.link))};
  if (!link.not_tried.empty()) {
    const bool is_asked_for = fault_level == Level::problem;
    finding.level = is_asked_for ? Level::problem : Level::note;
    finding.value = "not tried: " + link.not_tried;
    if (is_asked_for && !traits(link.link).missing.empty()) {
      finding.text = "What each machine has for it:";
      finding.remedy = examine_both(host, link.link);
    }
    return finding;
  }
  finding.value = measured_text(link);
  if (link.latency.is_done()) {
    finding.details.push_back(fmt::format("64 bytes: p50 {}, p99 {}", time_text(link.latency.latency_p50_us),
                                          time_text(link.latency.latency_p99_us)));
  }
  if (!link.works()) {
    finding.level = fault_level;
    finding.value = link.connects() ? "not both ways: only " + finding.value : "does not work";
    finding.text = trouble_text(link);
    mend(host, link, finding);
  }
  return finding;
}

/// A finding if small messages arrive and large ones do not: packets are larger than the MTU of some hop.
std::optional<Finding> size_finding(const RemoteHostReport& host, const MachineFacts& machine,
                                    const LinkMeasurements& link) {
  constexpr std::uint32_t ordinary_mtu_bytes = 1500;
  const auto interface = std::ranges::find_if(machine.network.interfaces, [&](const NetworkInterface& one) {
    return std::ranges::find(one.addresses, host.address_here) != one.addresses.end();
  });
  const bool is_stuck = link.there.is_late || link.back.is_late || link.there.has_lost_peer || link.back.has_lost_peer;
  if (!link.latency.is_done() || !is_stuck || !host.left.empty() || interface == machine.network.interfaces.end() ||
      interface->is_loopback || interface->mtu_bytes <= ordinary_mtu_bytes) {
    return std::nullopt;
  }
  constexpr std::uint32_t header_bytes = 28;  // of IPv4 and ICMP
  return Finding{
      .area = host_links_area(host),
      .name = fmt::format("{} packets", name(link.link)),
      .level = Level::warning,
      .value = fmt::format("small ones pass, large ones do not; MTU {}", interface->mtu_bytes),
      .text = "The path may take smaller packets only. If the first command fails, run the second, on both machines:",
      .details = {},
      .remedy = {fmt::format("ping -c 3 -M do -s {} {}", interface->mtu_bytes - header_bytes, host.address),
                 fmt::format("sudo ip link set dev {} mtu {}", interface->name, ordinary_mtu_bytes)}};
}

std::string why_not_better(const RemoteHostReport& host, LinkKind chosen) {
  std::string why;
  for (const LinkMeasurements& link : host.links) {
    if (link.link == chosen) {
      break;
    }
    const std::string& trouble = !link.not_tried.empty() ? link.not_tried : link.latency.trouble;
    why += fmt::format("; {}: {}", name(link.link), trouble);
  }
  return why;
}

Finding auto_finding(const RemoteHostReport& host) {
  Finding finding{.area = "What --transport auto takes", .name = "auto"};
  if (const auto chosen = auto_choice(host)) {
    finding.value = std::string(name(*chosen)) + why_not_better(host, *chosen);
  } else {
    finding.level = Level::problem;
    finding.value = "nothing: no link works";
  }
  return finding;
}

Finding left_finding(const RemoteHostReport& host) {
  return {.area = host_links_area(host),
          .name = "server",
          .level = Level::warning,
          .value = "went away while it was measured",
          .text = host.left + ". To start it again:",
          .details = {},
          .remedy = {start_server(host, host.target.at.port)}};
}

}  // namespace

std::string time_text(double us) {
  return us < 1000 ? fmt::format("{:.3g} µs", us) : fmt::format("{:.3g} ms", us / 1000);
}

std::string host_links_area(const RemoteHostReport& host) {
  return "Links to " + format_host_port(host.target.at);
}

std::optional<LinkKind> auto_choice(const RemoteHostReport& host) {
  // host.links is in the order of preference, as in a session (EndpointOptions::allowed_links).
  const auto found = std::ranges::find_if(host.links, &LinkMeasurements::connects);
  return found == host.links.end() ? std::nullopt : std::optional(found->link);
}

Findings check_host_links(const RemoteHostReport& host, const MachineFacts& machine, std::optional<LinkKind> wanted) {
  const bool is_stuck = std::ranges::none_of(host.links, &LinkMeasurements::works);
  Findings findings;
  for (const LinkMeasurements& link : host.links) {
    const bool is_tried = link.not_tried.empty();
    if (traits(link.link).needs_same_host && !is_tried && !wanted) {
      continue;  // not a finding: it never works between two machines
    }
    const bool is_needed = wanted == link.link || (is_stuck && is_tried);
    findings.push_back(link_finding(host, link, is_needed ? Level::problem : Level::warning));
    if (auto size = size_finding(host, machine, link)) {
      findings.push_back(std::move(*size));
    }
    std::ranges::move(check_speed(host, machine, link, host_links_area(host)), std::back_inserter(findings));
  }
  if (!host.left.empty()) {
    findings.push_back(left_finding(host));
  }
  if (!wanted) {
    findings.push_back(auto_finding(host));
  }
  return findings;
}

}  // namespace framewire
