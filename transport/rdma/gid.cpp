#include "transport/rdma/gid.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace framewire {

std::string_view name(GidKind kind) noexcept {
  switch (kind) {
    case GidKind::infiniband:
      return "IB";
    case GidKind::roce_v1:
      return "RoCE v1";
    case GidKind::roce_v2:
      return "RoCE v2";
  }
  return "unknown";
}

std::string_view name(GidScope scope) noexcept {
  switch (scope) {
    case GidScope::ipv4:
      return "IPv4";
    case GidScope::global:
      return "IPv6";
    case GidScope::link_local:
      return "link-local";
  }
  return "unknown";
}

GidScope gid_scope(std::span<const std::uint8_t, 16> raw) noexcept {
  constexpr std::array<std::uint8_t, 12> ipv4_mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};  // RFC 4291, 2.5.5.2
  if (std::ranges::equal(raw.first<12>(), ipv4_mapped)) {
    return GidScope::ipv4;
  }
  return raw[0] == 0xfe && (raw[1] & 0xc0U) == 0x80 ? GidScope::link_local : GidScope::global;  // fe80::/10
}

std::string gid_address(std::span<const std::uint8_t, 16> raw) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (gid_scope(raw) == GidScope::ipv4) {
    ::inet_ntop(AF_INET, raw.subspan<12>().data(), text.data(), text.size());
  } else {
    ::inet_ntop(AF_INET6, raw.data(), text.data(), text.size());
  }
  return text.data();
}

std::optional<std::size_t> best_gid(std::span<const RdmaGid> gids, std::span<const std::string> reachable) noexcept {
  const auto rank = [&](const RdmaGid& gid) {
    const bool is_reachable = std::ranges::find(reachable, gid.address) != reachable.end();
    return std::tuple(!is_reachable, gid.scope, gid.kind != GidKind::roce_v2);
  };
  const auto best = std::ranges::min_element(gids, {}, rank);
  return best == gids.end() ? std::nullopt : std::optional(static_cast<std::size_t>(best - gids.begin()));
}

}  // namespace framewire
