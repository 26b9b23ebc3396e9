// What AF_XDP could do on this machine's interfaces.
#include <linux/ethtool.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/file_descriptor.hpp"
#include "base/wait.hpp"
#include "doctor/netlink_attributes.hpp"
#include "doctor/probe.hpp"

namespace framewire {

namespace {

constexpr std::int64_t netlink_answer_timeout_ns = ns_per_s;
constexpr std::size_t heads_bytes = sizeof(nlmsghdr) + sizeof(genlmsghdr);

// Of linux/netdev.h, which is newer than the headers of many machines that have such a kernel.
constexpr std::uint8_t netdev_cmd_dev_get = 1;
constexpr int netdev_a_dev_ifindex = 1;
constexpr int netdev_a_dev_xdp_features = 3;
constexpr std::uint64_t netdev_xdp_act_redirect = 2;
constexpr std::uint64_t netdev_xdp_act_xsk_zerocopy = 8;

std::string driver_of(const FileDescriptor& socket, const std::string& interface) {
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&info);
  if (::ioctl(socket.get(), SIOCETHTOOL, &request) != 0) {
    return {};
  }
  info.driver[sizeof info.driver - 1] = '\0';
  return info.driver;
}

// ---- Generic netlink ----

std::vector<std::byte> request_for(std::uint16_t family, std::uint16_t flags, std::uint8_t command) {
  std::vector<std::byte> request(heads_bytes);
  nlmsghdr head{};
  head.nlmsg_type = family;
  head.nlmsg_flags = static_cast<__u16>(NLM_F_REQUEST | flags);
  genlmsghdr generic{};
  generic.cmd = command;
  generic.version = 1;
  std::memcpy(request.data(), &head, sizeof head);
  std::memcpy(request.data() + sizeof head, &generic, sizeof generic);
  return request;
}

bool send(const FileDescriptor& socket, std::vector<std::byte> request) {
  const auto length = static_cast<__u32>(request.size());
  std::memcpy(request.data() + offsetof(nlmsghdr, nlmsg_len), &length, sizeof length);
  return ::send(socket.get(), request.data(), request.size(), 0) == static_cast<ssize_t>(request.size());
}

/// Empty when none comes.
std::vector<std::byte> receive(const FileDescriptor& socket) {
  std::vector<std::byte> answer(32768);
  const bool is_there = wait_for(socket.get(), POLLIN, monotonic_ns() + netlink_answer_timeout_ns);
  const ssize_t bytes = is_there ? ::recv(socket.get(), answer.data(), answer.size(), 0) : 0;
  answer.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return answer;
}

/// The number of the family "netdev"; nothing before Linux 6.3.
std::optional<std::uint16_t> netdev_family(const FileDescriptor& socket) {
  constexpr std::string_view name = "netdev";
  std::vector<std::byte> request = request_for(GENL_ID_CTRL, 0, CTRL_CMD_GETFAMILY);
  const nlattr attribute{.nla_len = static_cast<__u16>(sizeof(nlattr) + name.size() + 1),
                         .nla_type = CTRL_ATTR_FAMILY_NAME};
  const std::size_t at = request.size();
  request.resize(at + NLA_ALIGN(attribute.nla_len));
  std::memcpy(request.data() + at, &attribute, sizeof attribute);
  std::memcpy(request.data() + at + sizeof attribute, name.data(), name.size());
  if (!send(socket, std::move(request))) {
    return std::nullopt;
  }
  const std::vector<std::byte> answer = receive(socket);
  std::optional<std::uint16_t> family;
  if (answer.size() > heads_bytes && value_at<nlmsghdr>(answer).nlmsg_type == GENL_ID_CTRL) {
    each_attribute(std::span(answer).subspan(heads_bytes), [&](int type, std::span<const std::byte> bytes) {
      if (type == CTRL_ATTR_FAMILY_ID) {
        family = value_at<std::uint16_t>(bytes);
      }
    });
  }
  return family;
}

void take_interface(std::span<const std::byte> attributes, NetworkFacts& network) {
  std::uint32_t index = 0;
  std::optional<std::uint64_t> features;
  each_attribute(attributes, [&](int type, std::span<const std::byte> bytes) {
    if (type == netdev_a_dev_ifindex) {
      index = value_at<std::uint32_t>(bytes);
    } else if (type == netdev_a_dev_xdp_features) {
      features = value_at<std::uint64_t>(bytes);
    }
  });
  const auto interface = std::ranges::find(network.interfaces, index, &NetworkInterface::index);
  if (features && interface != network.interfaces.end()) {
    interface->xdp = XdpFeatures{.has_native = (*features & netdev_xdp_act_redirect) != 0,
                                 .has_zero_copy = (*features & netdev_xdp_act_xsk_zerocopy) != 0};
  }
}

}  // namespace

bool read_xdp_features(std::span<const std::byte> answer, NetworkFacts& network) {
  while (answer.size() >= sizeof(nlmsghdr)) {
    const auto head = value_at<nlmsghdr>(answer);
    if (head.nlmsg_len < sizeof head || head.nlmsg_len > answer.size() || head.nlmsg_type == NLMSG_DONE ||
        head.nlmsg_type == NLMSG_ERROR) {
      return false;
    }
    if (head.nlmsg_len >= heads_bytes) {
      take_interface(answer.first(head.nlmsg_len).subspan(heads_bytes), network);
    }
    answer = answer.subspan(std::min<std::size_t>(NLMSG_ALIGN(head.nlmsg_len), answer.size()));
  }
  return true;
}

void probe_xdp(NetworkFacts& network) {
  const FileDescriptor control(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (NetworkInterface& interface : network.interfaces) {
    if (control.valid() && interface.is_ethernet) {
      interface.driver = driver_of(control, interface.name);
    }
  }
  const FileDescriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC));
  const auto family = socket.valid() ? netdev_family(socket) : std::nullopt;
  if (!family || !send(socket, request_for(*family, NLM_F_DUMP, netdev_cmd_dev_get))) {
    return;
  }
  for (std::vector<std::byte> part = receive(socket); !part.empty() && read_xdp_features(part, network);) {
    part = receive(socket);
  }
}

}  // namespace framewire
