#include "ssh/networks.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include "ssh/numeric_address.hpp"

namespace framewire {

namespace {

using Gid = std::array<std::uint8_t, 16>;

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

std::vector<std::string> rdma_networks(const std::vector<OwnAddress>& addresses,
                                       const std::vector<ActiveRdmaDevice>& devices) {
  std::vector<std::string> networks;
  for (const OwnAddress& one : addresses) {
    const auto has_it = [&](const ActiveRdmaDevice& device) { return device.has(one); };
    if (one.is_running && one.prefix_bits > 0 && std::ranges::any_of(devices, has_it)) {
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
