#include "bench/xdp/veth_pair.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/text.hpp"

namespace framewire {

namespace {

/// A request of rtnetlink(7), built piece by piece.
class NetlinkRequest {
 public:
  NetlinkRequest(std::uint16_t type, std::uint16_t flags) {
    const nlmsghdr header{.nlmsg_len = 0, .nlmsg_type = type, .nlmsg_flags = flags, .nlmsg_seq = 1, .nlmsg_pid = 0};
    add(&header, sizeof header);
  }
  void add(const void* bytes, std::size_t count) {
    const auto* const from = static_cast<const std::byte*>(bytes);
    bytes_.insert(bytes_.end(), from, from + count);
    bytes_.resize(NLMSG_ALIGN(bytes_.size()));
  }
  /// An attribute with a value.
  void add(std::uint16_t type, const void* value, std::size_t count) {
    const rtattr attribute{.rta_len = static_cast<unsigned short>(RTA_LENGTH(count)), .rta_type = type};
    add(&attribute, sizeof attribute);
    add(value, count);
  }
  void add(std::uint16_t type, std::string_view text) { add(type, std::string(text).c_str(), text.size() + 1); }
  /// What `fill` adds is in this attribute.
  template <typename Fill>
  void nest(std::uint16_t type, Fill fill) {
    const std::size_t at = bytes_.size();
    const rtattr attribute{.rta_len = 0, .rta_type = type};
    add(&attribute, sizeof attribute);
    fill();
    const auto length = static_cast<unsigned short>(bytes_.size() - at);
    std::memcpy(bytes_.data() + at + offsetof(rtattr, rta_len), &length, sizeof length);
  }
  /// The kernel's answer: errno, or 0.
  int send();

 private:
  std::vector<std::byte> bytes_;
};

int NetlinkRequest::send() {
  const FileDescriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  const auto length = static_cast<__u32>(bytes_.size());
  std::memcpy(bytes_.data() + offsetof(nlmsghdr, nlmsg_len), &length, sizeof length);
  alignas(nlmsghdr) std::byte answer[4096];
  if (!socket.valid() || ::send(socket.get(), bytes_.data(), bytes_.size(), 0) < 0) {
    return errno;
  }
  const ssize_t got = ::recv(socket.get(), answer, sizeof answer, 0);
  if (got < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(nlmsgerr)))) {
    return got < 0 ? errno : EPROTO;
  }
  nlmsgerr result;
  std::memcpy(&result, answer + NLMSG_HDRLEN, sizeof result);
  return -result.error;
}

void ioctl_of(const FileDescriptor& socket, unsigned long what, ifreq& request, const char* what_for) {
  if (::ioctl(socket.get(), what, &request) != 0) {
    throw Error::from_errno(std::string(what_for) + " of the interface " + quote(request.ifr_name), errno);
  }
}

FileDescriptor control_socket() {
  FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) {
    throw Error::from_errno("make a socket", errno);
  }
  return socket;
}

ifreq request_for(const std::string& name) {
  ifreq request{};
  std::ranges::copy(name.substr(0, IFNAMSIZ - 1), request.ifr_name);
  return request;
}

/// What a kernel or a container can be without is no fault of this machine.
Error lacking(const char* what, int error_number) {
  const Error error = Error::from_errno(what, error_number);
  const bool is_lacking = error_number == EOPNOTSUPP || error_number == EPERM || error_number == ENOSYS;
  return is_lacking ? Error::refused(error.what()) : error;
}

}  // namespace

void enter_new_network_namespace() {
  if (::unshare(CLONE_NEWNET) != 0) {
    throw lacking("make a network namespace", errno);
  }
}

FileDescriptor this_network_namespace() {
  FileDescriptor opened(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!opened.valid()) {
    throw Error::from_errno("open this thread's network namespace", errno);
  }
  return opened;
}

void enter_network_namespace(const FileDescriptor& network_namespace) {
  if (::setns(network_namespace.get(), CLONE_NEWNET) != 0) {
    throw Error::from_errno("enter a network namespace", errno);
  }
}

void make_veth_pair(pid_t server) {
  NetlinkRequest request(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK);
  const ifinfomsg link{};
  const auto server_process = static_cast<std::uint32_t>(server);
  request.add(&link, sizeof link);
  request.add(IFLA_IFNAME, veth_client_name);
  request.nest(IFLA_LINKINFO, [&] {
    request.add(IFLA_INFO_KIND, "veth");
    request.nest(IFLA_INFO_DATA, [&] {
      request.nest(VETH_INFO_PEER, [&] {
        request.add(&link, sizeof link);
        request.add(IFLA_IFNAME, veth_server_name);
        request.add(IFLA_NET_NS_PID, &server_process, sizeof server_process);
      });
    });
  });
  if (const int error_number = request.send(); error_number != 0) {
    throw lacking("make a pair of virtual Ethernet interfaces (veth)", error_number);
  }
}

void bring_up(const std::string& name, const std::string& address) {
  const FileDescriptor socket = control_socket();
  ifreq request = request_for(name);
  sockaddr_in ipv4{};
  ipv4.sin_family = AF_INET;
  ::inet_pton(AF_INET, address.c_str(), &ipv4.sin_addr);
  std::memcpy(&request.ifr_addr, &ipv4, sizeof ipv4);
  ioctl_of(socket, SIOCSIFADDR, request, "set the address");
  ::inet_pton(AF_INET, "255.255.255.0", &ipv4.sin_addr);
  std::memcpy(&request.ifr_netmask, &ipv4, sizeof ipv4);
  ioctl_of(socket, SIOCSIFNETMASK, request, "set the netmask");
  ioctl_of(socket, SIOCGIFFLAGS, request, "ask for the flags");
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  ioctl_of(socket, SIOCSIFFLAGS, request, "bring up the link");
}

void await_carrier(const std::string& name, std::int64_t deadline_ns) {
  const FileDescriptor socket = control_socket();
  for (;;) {
    ifreq request = request_for(name);
    ioctl_of(socket, SIOCGIFFLAGS, request, "ask for the flags");
    if ((request.ifr_flags & IFF_RUNNING) != 0) {
      return;
    }
    if (monotonic_ns() >= deadline_ns) {
      throw Error::failed("the interface " + quote(name) + " has no carrier; is the other end of its cable up?");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace framewire
