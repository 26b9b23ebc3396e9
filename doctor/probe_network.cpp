// Network interfaces, the kernel's socket and pipe buffers, and the priorities of Ethernet ports.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/dcbnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <memory>

#include "base/clock.hpp"
#include "base/file_descriptor.hpp"
#include "base/wait.hpp"
#include "doctor/netlink_attributes.hpp"
#include "doctor/probe.hpp"

namespace framewire {

namespace {

/// The blank-separated fields of a line in /proc/net.
std::vector<std::string_view> split_words(std::string_view line) {
  std::vector<std::string_view> words;
  while (!(line = trimmed(line)).empty()) {
    words.push_back(line.substr(0, line.find_first_of(" \t")));
    line.remove_prefix(words.back().size());
  }
  return words;
}

/// "4096 131072 33554432": the third number, and the first two as text.
void read_buffers(const std::optional<std::string>& line, std::optional<std::uint64_t>& max_bytes, std::string& begin) {
  const std::vector<std::string_view> words = split_words(line ? *line : std::string_view());
  if (words.size() < 3) {
    return;
  }
  max_bytes = leading_number(words[2]);
  const auto least = leading_number(words[0]);
  const auto first = leading_number(words[1]);
  if (least && first) {
    begin = std::to_string(*least) + " " + std::to_string(*first);
  }
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
  interface.has_card = files.exists(folder + "device");
  interface.receive_queues = static_cast<std::uint32_t>(std::ranges::count_if(
      files.names(folder + "queues"), [](const std::string& queue) { return queue.starts_with("rx-"); }));
  interface.mtu_bytes = static_cast<std::uint32_t>(files.number(folder + "mtu").value_or(0));
  // Unknown is -1, which some drivers print as an unsigned number.
  const auto speed = files.number(folder + "speed");
  if (speed && *speed > 0 && *speed < 100'000'000) {
    interface.megabits_per_second = static_cast<std::uint32_t>(*speed);
  }
  return interface;
}

/// Interfaces with a default route, from /proc/net/route ("Iface Destination … Mask …") and /proc/net/ipv6_route
/// ("destination length … device"); numbers are hexadecimal. Ignores the rejecting IPv6 default route of the loopback
/// device.
std::vector<std::string> interfaces_to_everywhere(const SystemFiles& files) {
  std::vector<std::string> names;
  const auto each_line = [&](const char* path, auto take) {
    const std::string text = files.text(path).value_or("");
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      take(split_words(line));
    }
  };
  each_line("/proc/net/route", [&](const std::vector<std::string_view>& words) {
    if (words.size() >= 8 && words[1] == "00000000" && words[7] == "00000000") {
      names.emplace_back(words[0]);
    }
  });
  each_line("/proc/net/ipv6_route", [&](const std::vector<std::string_view>& words) {
    if (words.size() >= 10 && words[0].find_first_not_of('0') == std::string_view::npos && words[1] == "00" &&
        words[9] != "lo") {
      names.emplace_back(words[9]);
    }
  });
  return names;
}

NetworkInterface interface_without_files(const ifaddrs& entry) {
  NetworkInterface interface;
  interface.name = entry.ifa_name;
  interface.index = ::if_nametoindex(entry.ifa_name);
  interface.is_up = (entry.ifa_flags & IFF_UP) != 0;
  interface.is_loopback = (entry.ifa_flags & IFF_LOOPBACK) != 0;
  interface.has_carrier = (entry.ifa_flags & IFF_RUNNING) != 0;
  return interface;
}

/// The address as text; empty if it is neither IPv4 nor a usable IPv6 address.
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
    if (files.exists("/sys/class/net/" + name + "/flags")) {  // bonding_masters is not an interface
      network.interfaces.push_back(read_interface(files, name));
    }
  }
  const std::vector<std::string> everywhere = interfaces_to_everywhere(files);
  for (NetworkInterface& interface : network.interfaces) {
    interface.has_default_route = std::ranges::find(everywhere, interface.name) != everywhere.end();
  }
  read_buffers(files.line("/proc/sys/net/ipv4/tcp_rmem"), network.tcp_receive_bytes, network.tcp_receive_begin);
  read_buffers(files.line("/proc/sys/net/ipv4/tcp_wmem"), network.tcp_send_bytes, network.tcp_send_begin);
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
    auto interface = std::ranges::find(network.interfaces, std::string(entry->ifa_name), &NetworkInterface::name);
    if (interface == network.interfaces.end()) {
      interface = network.interfaces.insert(interface, interface_without_files(*entry));
    }
    if (const std::string address = address_text(entry->ifa_addr); !address.empty()) {
      interface->addresses.push_back(address);
    }
  }
}

// ---- Priorities of Ethernet ports, from the kernel's netlink for data centre bridging (linux/dcbnl.h) ----

namespace {

constexpr std::int64_t answer_timeout_ns = ns_per_s;

std::string request_for(const std::string& interface) {
  struct {
    nlmsghdr head;
    dcbmsg body;
    nlattr attribute;
    std::array<char, IFNAMSIZ> name;
  } request{};
  static_assert(sizeof request == sizeof(nlmsghdr) + sizeof(dcbmsg) + sizeof(nlattr) + IFNAMSIZ);
  request.head.nlmsg_len = sizeof request;
  request.head.nlmsg_type = RTM_GETDCB;
  request.head.nlmsg_flags = NLM_F_REQUEST;
  request.body.cmd = DCB_CMD_IEEE_GET;
  request.attribute.nla_len = sizeof(nlattr) + IFNAMSIZ;
  request.attribute.nla_type = DCB_ATTR_IFNAME;
  interface.copy(request.name.data(), IFNAMSIZ - 1);
  return {reinterpret_cast<const char*>(&request), sizeof request};
}

}  // namespace

std::optional<InterfacePriorities> read_priorities(std::span<const std::byte> answer) {
  constexpr std::size_t head_bytes = sizeof(nlmsghdr) + sizeof(dcbmsg);
  if (answer.size() < head_bytes || value_at<nlmsghdr>(answer).nlmsg_type == NLMSG_ERROR) {
    return std::nullopt;
  }
  InterfacePriorities priorities;
  bool is_known = false;
  const auto take_app = [&](int type, std::span<const std::byte> bytes) {
    const auto app = value_at<dcb_app>(bytes);
    if (type == DCB_ATTR_IEEE_APP && bytes.size() >= sizeof app && app.selector == IEEE_8021QAZ_APP_SEL_DSCP &&
        app.protocol < 64 && app.priority < 8) {
      priorities.dscp_to_priority.emplace_back(static_cast<std::uint8_t>(app.protocol), app.priority);
    }
  };
  const auto take_part = [&](int type, std::span<const std::byte> bytes) {
    if (type == DCB_ATTR_IEEE_PFC && bytes.size() >= sizeof(ieee_pfc)) {
      priorities.lossless = value_at<ieee_pfc>(bytes).pfc_en;
      is_known = true;
    } else if (type == DCB_ATTR_IEEE_APP_TABLE) {
      each_attribute(bytes, take_app);
    }
  };
  each_attribute(answer.subspan(head_bytes), [&](int type, std::span<const std::byte> bytes) {
    if (type == DCB_ATTR_IEEE) {
      each_attribute(bytes, take_part);
    }
  });
  return is_known ? std::optional(priorities) : std::nullopt;
}

void probe_priorities(NetworkFacts& network) {
  const FileDescriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket.valid()) {
    return;
  }
  for (NetworkInterface& interface : network.interfaces) {
    if (!interface.is_ethernet || !interface.has_card) {
      continue;
    }
    const std::string request = request_for(interface.name);
    alignas(nlmsghdr) std::array<std::byte, 16384> answer;
    if (::send(socket.get(), request.data(), request.size(), 0) < 0 ||
        !wait_for(socket.get(), POLLIN, monotonic_ns() + answer_timeout_ns)) {
      return;
    }
    const ssize_t bytes = ::recv(socket.get(), answer.data(), answer.size(), 0);
    if (bytes > 0) {
      interface.priorities = read_priorities(std::span<const std::byte>(answer).first(static_cast<std::size_t>(bytes)));
    }
  }
}

}  // namespace framewire
