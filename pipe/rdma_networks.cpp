#include "pipe/rdma_networks.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <span>

namespace framewire {

namespace {

namespace fs = std::filesystem;

/// The names in a folder; none where it cannot be read.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator one(folder, error), end; !error && one != end; one.increment(error)) {
    entries.push_back(one->path());
  }
  return entries;
}

/// Also where a file's reading fails, as that of a GID that is not set does.
std::string line_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The interfaces of one device: those of its addresses, those of its card (InfiniBand's among them), and what
/// Soft-RoCE stands on.
void add_interfaces(const fs::path& device, std::set<std::string>& names) {
  for (const fs::path& port : entries_of(device / "ports")) {
    for (const fs::path& owner : entries_of(port / "gid_attrs" / "ndevs")) {
      names.insert(line_of(owner));
    }
  }
  for (const fs::path& interface : entries_of(device / "device" / "net")) {
    names.insert(interface.filename());
  }
  names.insert(line_of(device / "parent"));
}

std::span<const std::uint8_t> bytes_of(const sockaddr& address) noexcept {
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address).sin_addr;
    return {reinterpret_cast<const std::uint8_t*>(&v4), sizeof v4};
  }
  if (address.sa_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    return {reinterpret_cast<const std::uint8_t*>(&v6), sizeof v6};
  }
  return {};
}

/// Empty for what another host cannot dial.
std::string network_of(const ifaddrs& one) {
  if (one.ifa_addr == nullptr || one.ifa_netmask == nullptr || (one.ifa_flags & IFF_UP) == 0 ||
      (one.ifa_flags & IFF_LOOPBACK) != 0) {
    return {};
  }
  const auto address = bytes_of(*one.ifa_addr);
  // The kernel leaves the family of some masks unset.
  sockaddr_storage mask{};
  std::copy_n(reinterpret_cast<const std::byte*>(one.ifa_netmask),
              one.ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6),
              reinterpret_cast<std::byte*>(&mask));
  mask.ss_family = one.ifa_addr->sa_family;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.empty() || ::inet_ntop(one.ifa_addr->sa_family, address.data(), text.data(),
                                     static_cast<socklen_t>(text.size())) == nullptr) {
    return {};
  }
  if (one.ifa_addr->sa_family == AF_INET6 &&
      IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(one.ifa_addr)->sin6_addr)) {
    return {};
  }
  int bits = 0;
  for (const std::uint8_t byte : bytes_of(reinterpret_cast<const sockaddr&>(mask))) {
    bits += std::popcount(byte);
  }
  return std::string(text.data()) + "/" + std::to_string(bits);
}

struct Network {
  int family = AF_UNSPEC;
  std::array<std::uint8_t, 16> address{};
  unsigned bits = 0;
};

std::optional<Network> network_from(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    return std::nullopt;
  }
  Network network;
  network.family = text.find(':') == std::string::npos ? AF_INET : AF_INET6;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + slash + 1, end, network.bits);
  const unsigned most_bits = network.family == AF_INET ? 32 : 128;
  if (error != std::errc() || rest != end || network.bits == 0 || network.bits > most_bits ||
      ::inet_pton(network.family, text.substr(0, slash).c_str(), network.address.data()) != 1) {
    return std::nullopt;
  }
  return network;
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

std::vector<std::string> rdma_networks(const fs::path& class_folder) {
  std::set<std::string> names;
  for (const fs::path& device : entries_of(class_folder)) {
    add_interfaces(device, names);
  }
  ifaddrs* first = nullptr;
  if (names.empty() || ::access("/dev/infiniband/rdma_cm", R_OK | W_OK) != 0 || ::getifaddrs(&first) != 0) {
    return {};
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(first, ::freeifaddrs);
  std::vector<std::string> networks;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (std::string network; names.contains(one->ifa_name) && !(network = network_of(*one)).empty()) {
      networks.push_back(std::move(network));
    }
  }
  return networks;
}

std::vector<std::string> shared_addresses(const std::vector<std::string>& listener,
                                          const std::vector<std::string>& dialler) {
  std::vector<std::string> shared;
  for (const std::string& theirs : listener) {
    const auto network = network_from(theirs);
    const auto is_same = [&](const std::string& own) {
      const auto other = network_from(own);
      return other && is_one_network(*network, *other);
    };
    if (network && std::ranges::any_of(dialler, is_same)) {
      shared.push_back(theirs.substr(0, theirs.find('/')));
    }
  }
  return shared;
}

}  // namespace framewire
