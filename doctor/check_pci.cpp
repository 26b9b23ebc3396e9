// The slot of a card.
#include <fmt/format.h>

#include <algorithm>

#include "doctor/check.hpp"

namespace framewire {

namespace {

std::string describe(const PciLink& link) {
  return fmt::format("{:g} GT/s x{}", link.gigatransfers, link.lanes);
}

/// "0000:3b:00" of "0000:3b:00.1": cards with two ports have a function for each, on one slot. Empty for what has no
/// slot, and for virtual functions, whose ports are those of the card once more.
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

/// Of all ports together: they share the slot.
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
