#include "base/host_addresses.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <span>

namespace framewire {

namespace {

using Gid = std::array<std::uint8_t, 16>;

constexpr Gid before_ipv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0};  // RFC 4291, 2.5.5.2

// ---- Addresses ----

/// The bytes of an IP address; empty if it is not one.
std::span<const std::uint8_t> bytes_of(const sockaddr& address, int family) noexcept {
  if (family == AF_INET) {
    return {reinterpret_cast<const std::uint8_t*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr), 4};
  }
  if (family == AF_INET6) {
    return {reinterpret_cast<const std::uint8_t*>(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr), 16};
  }
  return {};
}

/// Returns nothing for an address that another host cannot dial.
std::optional<OwnAddress> read_address(const ifaddrs& one) {
  if (one.ifa_addr == nullptr || one.ifa_netmask == nullptr || (one.ifa_flags & IFF_UP) == 0 ||
      (one.ifa_flags & IFF_LOOPBACK) != 0) {
    return std::nullopt;
  }
  const int family = one.ifa_addr->sa_family;  // the kernel leaves the family of some masks unset
  const auto address = bytes_of(*one.ifa_addr, family);
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_link_local = family == AF_INET6 && address[0] == 0xfe && (address[1] & 0xc0) == 0x80;
  if (address.empty() || is_link_local ||
      ::inet_ntop(family, address.data(), text.data(), static_cast<socklen_t>(text.size())) == nullptr) {
    return std::nullopt;
  }
  OwnAddress own{.interface = one.ifa_name, .text = text.data(), .is_running = (one.ifa_flags & IFF_RUNNING) != 0};
  for (const std::uint8_t byte : bytes_of(*one.ifa_netmask, family)) {
    own.prefix_bits += static_cast<unsigned>(std::popcount(byte));
  }
  own.gid = family == AF_INET ? before_ipv4 : Gid{};
  std::ranges::copy(address, own.gid.end() - static_cast<std::ptrdiff_t>(address.size()));
  return own;
}

// ---- RDMA ports by sysfs ----

/// "fe80:0000:…", eight groups of four digits; nothing otherwise, as for a free entry of the table.
std::optional<Gid> read_gid(const std::string& line) {
  Gid gid{};
  if (::inet_pton(AF_INET6, line.c_str(), gid.data()) != 1 || gid == Gid{}) {
    return std::nullopt;
  }
  return gid;
}

/// A table may have a thousand entries: stop after this many free ones in a row.
void read_gids(const SystemFiles& files, const std::string& folder, std::set<Gid>& gids) {
  constexpr int max_free = 16;
  int free_places = 0;
  for (int index = 0; free_places < max_free; ++index) {
    if (const auto gid = read_gid(files.line(folder + "/" + std::to_string(index)).value_or(""))) {
      gids.insert(*gid);
      free_places = 0;
    } else {
      ++free_places;
    }
  }
}

/// Nothing: no port of it is active.
std::optional<ActiveRdmaDevice> read_device(const SystemFiles& files, const std::string& name) {
  const std::string folder = "/sys/class/infiniband/" + name;
  const auto says = [&](const std::string& path, const char* word) {
    return files.line(path).value_or("").find(word) != std::string::npos;
  };
  ActiveRdmaDevice device{.name = name};
  bool is_active = false;
  for (const std::string& number : files.names(folder + "/ports")) {
    std::string port = folder;
    port.append("/ports/").append(number);
    if (!says(port + "/state", "ACTIVE")) {
      continue;
    }
    is_active = true;
    if (says(folder + "/node_type", "RNIC") || files.line(port + "/link_layer") == "InfiniBand") {
      const auto interfaces = files.names(folder + "/device/net");
      device.interfaces.insert(interfaces.begin(), interfaces.end());
    } else {
      read_gids(files, port + "/gids", device.gids);
    }
  }
  return is_active ? std::optional(std::move(device)) : std::nullopt;
}

}  // namespace

std::vector<OwnAddress> own_addresses() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) {
    return {};
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(first, ::freeifaddrs);
  std::vector<OwnAddress> addresses;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (auto address = read_address(*one)) {
      addresses.push_back(std::move(*address));
    }
  }
  return addresses;
}

std::vector<ActiveRdmaDevice> active_rdma_devices(const SystemFiles& files) {
  std::vector<ActiveRdmaDevice> devices;
  for (const std::string& name : files.names("/sys/class/infiniband")) {
    if (auto device = read_device(files, name)) {
      devices.push_back(std::move(*device));
    }
  }
  return devices;
}

}  // namespace framewire
