#include "bench/xdp/network_interface.hpp"

#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/text.hpp"

namespace framewire {

namespace {

/// One of the ioctls of netdevice(7).
ifreq ask(const FileDescriptor& socket, const std::string& name, unsigned long what, const char* what_for) {
  ifreq request{};
  std::ranges::copy(name, request.ifr_name);
  if (::ioctl(socket.get(), what, &request) != 0) {
    throw Error::from_errno("ask for " + std::string(what_for) + " of the interface " + quote(name), errno);
  }
  return request;
}

}  // namespace

EthernetInterface find_interface(const std::string& name) {
  EthernetInterface interface { .name = name };
  interface.index = name.size() < IFNAMSIZ ? ::if_nametoindex(name.c_str()) : 0;
  if (interface.index == 0) {
    throw Error::failed("there is no network interface " + quote(name) + "; 'ip link' lists them");
  }
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) {
    throw Error::from_errno("make a socket", errno);
  }
  const ifreq hardware = ask(socket, name, SIOCGIFHWADDR, "the address");
  if (hardware.ifr_hwaddr.sa_family != ARPHRD_ETHER) {
    throw Error::failed("the network interface " + quote(name) + " is no Ethernet");
  }
  std::memcpy(interface.mac.data(), hardware.ifr_hwaddr.sa_data, interface.mac.size());
  interface.mtu_bytes = static_cast<std::uint32_t>(ask(socket, name, SIOCGIFMTU, "the MTU").ifr_mtu);
  if ((ask(socket, name, SIOCGIFFLAGS, "the state").ifr_flags & IFF_UP) == 0) {
    throw Error::failed("the network interface " + quote(name) + " is down; ip link set dev " + name + " up");
  }
  return interface;
}

}  // namespace framewire
