// How Ethernet ports treat priorities, by the kernel's netlink for data centre bridging (linux/dcbnl.h).
#include <linux/dcbnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "base/clock.hpp"
#include "base/file_descriptor.hpp"
#include "base/wait.hpp"
#include "doctor/probe.hpp"

namespace framewire {

namespace {

constexpr std::int64_t answer_timeout_ns = ns_per_s;
constexpr unsigned type_mask = 0x3fff;  // NLA_TYPE_MASK, without its sign

template <typename Value>
Value value_at(std::span<const std::byte> bytes) noexcept {
  Value value{};
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

/// Calls `take` with the type and the bytes of each attribute.
template <typename Take>
void each_attribute(std::span<const std::byte> bytes, Take take) {
  while (bytes.size() >= sizeof(nlattr)) {
    const auto head = value_at<nlattr>(bytes);
    if (head.nla_len < sizeof head || head.nla_len > bytes.size()) {
      return;
    }
    take(static_cast<int>(head.nla_type & type_mask), bytes.subspan(sizeof head, head.nla_len - sizeof head));
    bytes = bytes.subspan(std::min<std::size_t>(NLA_ALIGN(head.nla_len), bytes.size()));
  }
}

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
