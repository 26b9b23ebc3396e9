#include "ssh/numeric_address.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>

namespace framewire {

namespace {

/// Without its zone.
std::optional<in6_addr> read_ipv6(const std::string& text) {
  in6_addr address{};
  const std::string digits = text.substr(0, text.find('%'));
  return ::inet_pton(AF_INET6, digits.c_str(), &address) == 1 ? std::optional(address) : std::nullopt;
}

/// An interface's name or number.
bool is_zone(const std::string& text) {
  const auto is_fit = [](unsigned char letter) { return std::isgraph(letter) != 0 && letter != '%' && letter != '/'; };
  return !text.empty() && text.size() < IF_NAMESIZE && std::ranges::all_of(text, is_fit);
}

bool is_loopback_or_any(const in_addr& address) noexcept {
  const std::uint32_t number = ntohl(address.s_addr);
  return number >> 24U == IN_LOOPBACKNET || number == INADDR_ANY;
}

}  // namespace

bool is_numeric_address(const std::string& text) {
  in_addr address{};
  if (text.find('\0') != std::string::npos) {  // the functions of C would not see what follows
    return false;
  }
  if (::inet_pton(AF_INET, text.c_str(), &address) == 1) {
    return true;
  }
  const std::size_t percent = text.find('%');
  return read_ipv6(text) && (percent == std::string::npos || is_zone(text.substr(percent + 1)));
}

bool leads_to_the_dialler(const std::string& text) {
  in_addr ipv4{};
  if (::inet_aton(text.c_str(), &ipv4) != 0) {
    return is_loopback_or_any(ipv4);
  }
  if (const auto ipv6 = read_ipv6(text)) {
    if (IN6_IS_ADDR_V4MAPPED(&*ipv6)) {
      std::memcpy(&ipv4, &ipv6->s6_addr[12], sizeof ipv4);
      return is_loopback_or_any(ipv4);
    }
    return IN6_IS_ADDR_LOOPBACK(&*ipv6) || IN6_IS_ADDR_UNSPECIFIED(&*ipv6);
  }
  return text == "localhost";
}

}  // namespace framewire
