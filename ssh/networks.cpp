#include "ssh/networks.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <memory>
#include <optional>
#include <span>

#include "ssh/numeric_address.hpp"

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

// ---- Networks in a peer's message ----

struct Network {
  int family = AF_UNSPEC;
  Gid address{};
  unsigned bits = 0;
  bool operator==(const Network&) const = default;
};

std::optional<Network> network_from(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos || !is_numeric_address(text.substr(0, slash))) {
    return std::nullopt;
  }
  Network network;
  network.family = text.find(':') == std::string::npos ? AF_INET : AF_INET6;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + slash + 1, end, network.bits);
  const unsigned max_bits = network.family == AF_INET ? 32 : 128;
  if (error != std::errc() || rest != end || network.bits == 0 || network.bits > max_bits ||
      ::inet_pton(network.family, text.substr(0, slash).c_str(), network.address.data()) != 1) {
    return std::nullopt;
  }
  return network;
}

std::vector<Network> networks_from(const std::vector<std::string>& texts) {
  std::vector<Network> networks;
  for (const std::string& text : texts) {
    if (const auto network = network_from(text)) {
      networks.push_back(*network);
    }
  }
  return networks;
}

bool is_one_network(const Network& a, const Network& b) noexcept {
  if (a.family != b.family || a.bits != b.bits) {
    return false;
  }
  for (unsigned bit = 0; bit < a.bits; ++bit) {
    const auto mask = static_cast<std::uint8_t>(0x80U >> bit % 8);
    if (((a.address[bit / 8] ^ b.address[bit / 8]) & mask) != 0) {
      return false;
    }
  }
  return true;
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

RdmaPlaces rdma_places(const SystemFiles& files) {
  const std::string devices = "/sys/class/infiniband/";
  const auto says = [&](const std::string& path, const char* word) {
    return files.line(path).value_or("").find(word) != std::string::npos;
  };
  RdmaPlaces places;
  for (const std::string& name : files.names(devices)) {
    const std::string device = devices + name;
    for (const std::string& number : files.names(device + "/ports")) {
      std::string port = device;
      port.append("/ports/").append(number);
      if (!says(port + "/state", "ACTIVE")) {
        continue;
      }
      if (says(device + "/node_type", "RNIC") || files.line(port + "/link_layer") == "InfiniBand") {
        const auto interfaces = files.names(device + "/device/net");
        places.interfaces.insert(interfaces.begin(), interfaces.end());
      } else {
        read_gids(files, port + "/gids", places.gids);
      }
    }
  }
  return places;
}

std::vector<std::string> rdma_networks(const std::vector<OwnAddress>& addresses, const RdmaPlaces& places) {
  std::vector<std::string> networks;
  for (const OwnAddress& one : addresses) {
    if (one.is_running && one.prefix_bits > 0 &&
        (places.gids.contains(one.gid) || places.interfaces.contains(one.interface))) {
      networks.push_back(one.text + "/" + std::to_string(one.prefix_bits));
    }
  }
  return networks;
}

bool is_network(const std::string& text) {
  return network_from(text).has_value();
}

std::vector<std::string> shared_addresses(const std::vector<std::string>& listener,
                                          const std::vector<std::string>& dialler) {
  const std::vector<Network> own = networks_from(dialler);
  std::vector<std::string> shared;
  for (const std::string& text : listener) {
    const auto network = network_from(text);
    const auto is_same = [&](const Network& one) { return is_one_network(*network, one); };
    if (network && std::ranges::any_of(own, is_same) && std::ranges::find(own, *network) == own.end()) {
      shared.push_back(text.substr(0, text.find('/')));
    }
  }
  return shared;
}

}  // namespace framewire
