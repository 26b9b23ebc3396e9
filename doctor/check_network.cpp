// The findings about sockets and pipes, and about the PCI Express slot of an RDMA card.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "doctor/check.hpp"

namespace framewire {

namespace {

constexpr const char* area = "Network";
constexpr double bytes_per_second_100g = 100e9 / 8;

/// The bytes that must be in flight to fill the fastest interface at a round trip of 1 ms: the bandwidth-delay product
/// (RFC 7323, 1.1). 0 if no interface states its speed.
std::uint64_t wanted_bytes(const NetworkFacts& network) {
  std::uint64_t fastest = 0;  // Mb/s
  for (const NetworkInterface& interface : network.interfaces) {
    fastest = std::max<std::uint64_t>(fastest, interface.is_up ? interface.megabits_per_second.value_or(0) : 0);
  }
  constexpr std::uint64_t max_bytes = 0x7fffffff;  // the kernel's limit: a signed 32-bit number
  return std::min(fastest * 1'000'000 / 8 / 1000, max_bytes);
}

Finding interfaces_finding(const NetworkFacts& network) {
  Finding finding{.area = area, .name = "interfaces"};
  std::size_t count = 0;
  for (const NetworkInterface& interface : network.interfaces) {
    if (interface.is_loopback || !interface.is_up || interface.addresses.empty()) {
      continue;
    }
    const std::string speed =
        interface.megabits_per_second ? fmt::format(", {:g} Gb/s", *interface.megabits_per_second / 1000.0) : "";
    const std::string line = fmt::format("{} {}{}{}", interface.name, interface.addresses.front(), speed,
                                         interface.mtu_bytes > 0 ? fmt::format(", MTU {}", interface.mtu_bytes) : "");
    finding.value = count == 0 ? line : finding.value;
    finding.details.push_back(line);
    ++count;
  }
  if (count == 0) {
    finding.level = Level::note;
    finding.value = "none that is up and has an address";
    finding.text = "Frames can go within this machine only.";
  } else if (count == 1) {
    finding.details.clear();
  } else {
    finding.value += fmt::format(", and {} more", count - 1);
  }
  return finding;
}

std::string reach_text(std::uint64_t bytes) {
  return fmt::format("{:.2g} ms", static_cast<double>(bytes) / bytes_per_second_100g * 1e3);
}

/// The kernel sizes TCP's buffers automatically up to these limits; framewire does not set them.
Finding buffers_finding(const NetworkFacts& network) {
  Finding finding{.area = area, .name = "tcp buffers"};
  if (!network.tcp_receive_bytes || !network.tcp_send_bytes) {
    finding.level = Level::note;
    finding.value = "not known";
    finding.text = "This system does not show net.ipv4.tcp_rmem and tcp_wmem.";
    return finding;
  }
  const std::uint64_t least = std::min(*network.tcp_receive_bytes, *network.tcp_send_bytes);
  finding.value = fmt::format("up to {} to send, {} to receive", format_bytes(*network.tcp_send_bytes),
                              format_bytes(*network.tcp_receive_bytes));
  finding.text = fmt::format("At 100 Gb/s they are full within {}; a longer round trip makes a connection slower.",
                             reach_text(least));
  if (network.core_receive_bytes && network.core_send_bytes) {
    finding.details.push_back(fmt::format("net.core.wmem_max {}, rmem_max {}: for programs that set buffers themselves",
                                          format_bytes(*network.core_send_bytes),
                                          format_bytes(*network.core_receive_bytes)));
  }
  if (least < wanted_bytes(network)) {
    finding.level = Level::note;
    finding.text +=
        fmt::format(" This machine's fastest interface fills {} in 1 ms.", format_bytes(wanted_bytes(network)));
    // Keeps limits that are large enough, and the initial sizes.
    const auto enough = [&](std::uint64_t bytes) { return std::max(bytes, wanted_bytes(network)); };
    finding.remedy = {fmt::format("printf 'net.ipv4.tcp_rmem={} {}\\nnet.ipv4.tcp_wmem={} {}\\n' | sudo tee "
                                  "/etc/sysctl.d/90-framewire.conf",
                                  network.tcp_receive_begin, enough(*network.tcp_receive_bytes), network.tcp_send_begin,
                                  enough(*network.tcp_send_bytes)),
                      "sudo sysctl --system"};
  }
  return finding;
}

Finding pipe_finding(const NetworkFacts& network) {
  constexpr std::uint64_t wanted_pipe_bytes = std::uint64_t{1} << 20;
  Finding finding{.area = area, .name = "pipes"};
  finding.value = network.pipe_bytes ? fmt::format("up to {}", format_bytes(*network.pipe_bytes)) : "not known";
  if (network.pipe_bytes && *network.pipe_bytes < wanted_pipe_bytes) {
    finding.level = Level::note;
    finding.text = "Frames and bytes that come or go through a pipe are faster with larger ones.";
    finding.remedy = {"echo 'fs.pipe-max-size=1048576' | sudo tee /etc/sysctl.d/91-framewire.conf",
                      "sudo sysctl --system"};
  }
  return finding;
}

/// "eth0, virtio_net, 2 queues, MTU 1500: generic and native mode, copies"
std::string xdp_line(const NetworkInterface& interface) {
  std::string line = interface.name;
  line += interface.driver.empty() ? "" : ", " + interface.driver;
  line += interface.receive_queues == 0
              ? ""
              : fmt::format(", {} {}", interface.receive_queues, interface.receive_queues == 1 ? "queue" : "queues");
  line += interface.mtu_bytes == 0 ? "" : fmt::format(", MTU {}", interface.mtu_bytes);
  if (!interface.xdp) {
    return line + ": generic mode; native not known";
  }
  return line + (interface.xdp->has_native ? ": generic and native mode" : ": generic mode") +
         (interface.xdp->has_zero_copy ? ", zero copy" : ", copies");
}

/// For framewire bench --transport xdp. No link needs it, so nothing here is a fault.
Finding xdp_finding(const NetworkFacts& network) {
  Finding finding{.area = area, .name = "AF_XDP"};
  for (const NetworkInterface& interface : network.interfaces) {
    if (interface.is_up && interface.is_ethernet) {
      finding.details.push_back(xdp_line(interface));
    }
  }
  if (finding.details.empty()) {
    finding.value = "no Ethernet interface is up";
    return finding;
  }
  finding.value = finding.details.front();
  if (finding.details.size() == 1) {
    finding.details.clear();
  } else {
    finding.value += fmt::format(", and {} more", finding.details.size() - 1);
  }
  return finding;
}

}  // namespace

Findings check_network(const NetworkFacts& network) {
  return {interfaces_finding(network), buffers_finding(network), pipe_finding(network), xdp_finding(network)};
}

// ---- The slot of a card ----

namespace {

std::string describe(const PciLink& link) {
  return fmt::format("{:g} GT/s x{}", link.gigatransfers, link.lanes);
}

/// "0000:3b:00" of "0000:3b:00.1": a card with two ports has one function for each, in one slot. Empty without a slot,
/// and for virtual functions, which share the card's ports.
std::string_view card_of(const RdmaAdapter& adapter) {
  if (!adapter.pci || adapter.pci->is_virtual) {
    return {};
  }
  const std::string_view address = adapter.pci->address;
  return address.substr(0, address.rfind('.'));
}

double gigabits_of_ports(const RdmaAdapter& adapter) {
  double sum = 0;
  for (const RdmaPortPlace& port : adapter.ports) {
    sum += port.state == "ACTIVE" ? port.gigabits_per_second : 0;
  }
  return sum;
}

/// The sum of the card's ports, which share the slot.
double gigabits_of_card(std::string_view card, const RdmaFacts& rdma) {
  double sum = 0;
  for (const RdmaAdapter& one : rdma.adapters) {
    sum += card_of(one) == card ? gigabits_of_ports(one) : 0;
  }
  return sum;
}

}  // namespace

Findings check_pci(const RdmaAdapter& adapter, const RdmaFacts& rdma) {
  const std::string_view card = card_of(adapter);
  const auto first = std::ranges::find(rdma.adapters, card, card_of);
  const bool is_said_already = first != rdma.adapters.end() && first->name != adapter.name;
  if (card.empty() || is_said_already || adapter.pci->current.gigatransfers <= 0 || adapter.pci->current.lanes == 0) {
    return {};
  }
  const PciLink& current = adapter.pci->current;
  const PciLink& most = adapter.pci->most;
  const double wire = gigabits_of_card(card, rdma);
  Finding finding{.area = "RDMA", .name = adapter.name + " PCIe"};
  finding.value =
      fmt::format("{} at {}, {:.0f} Gb/s", describe(current), adapter.pci->address, current.gigabits_per_second());
  const bool is_narrow = most.gigatransfers > 0 && current.lanes < most.lanes;
  const bool is_slow = current.gigatransfers < most.gigatransfers;
  if (current.gigabits_per_second() < wire) {
    finding.level = Level::warning;
    finding.text = fmt::format("The slot is slower than the card's wires together: {:.0f} of {:g} Gb/s can pass.",
                               current.gigabits_per_second(), wire);
    if (is_narrow || is_slow) {
      finding.text +=
          fmt::format(" The card itself can do {}: put it into a slot that has all {} lanes{}.", describe(most),
                      most.lanes, is_slow ? " and that generation, and look at the firmware's settings for it" : "");
    } else {
      finding.text += " The card can do no more: use one port of it, or another card.";
    }
    finding.remedy = {
        fmt::format("sudo lspci -vv -s {} | grep -E 'LnkCap:|LnkSta:'   # shows both", adapter.pci->address)};
  } else if (is_narrow || is_slow) {
    finding.text = fmt::format("The card can do {}; the wire needs no more than this.", describe(most));
  }
  return {finding};
}

}  // namespace framewire
