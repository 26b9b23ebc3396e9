// Network interfaces and the kernel's buffers.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

#include "doctor/probe.hpp"

namespace framewire {

namespace {

/// The third of "4096 131072 33554432".
std::optional<std::uint64_t> third_number(const std::optional<std::string>& line) {
  if (!line) {
    return std::nullopt;
  }
  std::string_view rest = *line;
  for (int skipped = 0; skipped < 2; ++skipped) {
    rest = trimmed(rest.substr(std::min(rest.find_first_of(" \t"), rest.size())));
  }
  return leading_number(rest);
}

std::uint64_t flags_of(const SystemFiles& files, const std::string& folder) {
  const std::string text = files.line(folder + "flags").value_or("");  // "0x1003"
  std::uint64_t flags = 0;
  if (text.starts_with("0x")) {
    std::from_chars(text.data() + 2, text.data() + text.size(), flags, 16);
  }
  return flags;
}

NetworkInterface read_interface(const SystemFiles& files, const std::string& name) {
  const std::string folder = "/sys/class/net/" + name + "/";
  const std::uint64_t flags = flags_of(files, folder);
  NetworkInterface interface;
  interface.name = name;
  interface.index = static_cast<std::uint32_t>(files.number(folder + "ifindex").value_or(0));
  interface.is_up = (flags & IFF_UP) != 0;
  interface.is_loopback = (flags & IFF_LOOPBACK) != 0;
  interface.has_carrier = files.number(folder + "carrier").value_or(0) == 1;
  interface.is_ethernet = !interface.is_loopback && files.number(folder + "type") == ARPHRD_ETHER;
  interface.mtu_bytes = static_cast<std::uint32_t>(files.number(folder + "mtu").value_or(0));
  // Unknown is -1, and on some drivers the same as a number without sign.
  const auto speed = files.number(folder + "speed");
  if (speed && *speed > 0 && *speed < 100'000'000) {
    interface.megabits_per_second = static_cast<std::uint32_t>(*speed);
  }
  return interface;
}

/// As text; empty for what is neither IPv4 nor a usable IPv6 address.
std::string address_text(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address == nullptr) {
    return "";
  }
  if (address->sa_family == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text.data(), text.size());
  } else if (address->sa_family == AF_INET6) {
    const in6_addr& ipv6 = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    if (!IN6_IS_ADDR_LINKLOCAL(&ipv6)) {
      ::inet_ntop(AF_INET6, &ipv6, text.data(), text.size());
    }
  }
  return text.data();
}

}  // namespace

NetworkFacts probe_network(const SystemFiles& files) {
  NetworkFacts network;
  for (const std::string& name : files.names("/sys/class/net")) {
    if (files.exists("/sys/class/net/" + name + "/flags")) {  // bonding_masters is no interface
      network.interfaces.push_back(read_interface(files, name));
    }
  }
  network.tcp_receive_bytes = third_number(files.line("/proc/sys/net/ipv4/tcp_rmem"));
  network.tcp_send_bytes = third_number(files.line("/proc/sys/net/ipv4/tcp_wmem"));
  network.core_receive_bytes = files.number("/proc/sys/net/core/rmem_max");
  network.core_send_bytes = files.number("/proc/sys/net/core/wmem_max");
  network.pipe_bytes = files.number("/proc/sys/fs/pipe-max-size");
  return network;
}

void probe_addresses(NetworkFacts& network) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) {
    return;
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owned(first, &::freeifaddrs);
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    const auto interface = std::ranges::find(network.interfaces, std::string(entry->ifa_name), &NetworkInterface::name);
    const std::string address = address_text(entry->ifa_addr);
    if (interface != network.interfaces.end() && !address.empty()) {
      interface->addresses.push_back(address);
    }
  }
}

}  // namespace framewire
