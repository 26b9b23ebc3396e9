#include "transport/rdma/gid.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace framewire {
namespace {

std::array<std::uint8_t, 16> raw(std::initializer_list<std::uint8_t> begin, std::initializer_list<std::uint8_t> end) {
  std::array<std::uint8_t, 16> bytes{};
  std::copy(begin.begin(), begin.end(), bytes.begin());
  std::copy(end.begin(), end.end(), bytes.end() - static_cast<std::ptrdiff_t>(end.size()));
  return bytes;
}

TEST(Gid, AnIpv4AddressStandsInTheLastFourBytes) {
  const auto gid = raw({}, {0xff, 0xff, 192, 168, 7, 1});
  EXPECT_EQ(gid_scope(gid), GidScope::ipv4);
  EXPECT_EQ(gid_address(gid), "192.168.7.1");
}

TEST(Gid, LinkLocalIsTheFirstTenBits) {
  EXPECT_EQ(gid_scope(raw({0xfe, 0x80}, {1})), GidScope::link_local);
  EXPECT_EQ(gid_scope(raw({0xfe, 0xbf}, {1})), GidScope::link_local);
  EXPECT_EQ(gid_scope(raw({0xfe, 0xc0}, {1})), GidScope::global);
  EXPECT_EQ(gid_scope(raw({0x20, 0x01, 0x0d, 0xb8}, {1})), GidScope::global);
  EXPECT_EQ(gid_address(raw({0xfe, 0x80}, {1})), "fe80::1");
}

TEST(BestGid, PrefersIpv4ThenGlobalThenLinkLocal) {
  std::vector<RdmaGid> gids = {{.index = 0, .kind = GidKind::roce_v2, .scope = GidScope::link_local, .address = "a"},
                               {.index = 1, .kind = GidKind::roce_v2, .scope = GidScope::global, .address = "b"},
                               {.index = 2, .kind = GidKind::roce_v1, .scope = GidScope::ipv4, .address = "c"}};
  EXPECT_EQ(best_gid(gids), 2U);
  gids.pop_back();
  EXPECT_EQ(best_gid(gids), 1U);
  gids.pop_back();
  EXPECT_EQ(best_gid(gids), 0U);
}

TEST(BestGid, PrefersVersionTwoAmongEquals) {
  const std::vector<RdmaGid> gids = {{.index = 4, .kind = GidKind::roce_v1, .scope = GidScope::ipv4, .address = "a"},
                                     {.index = 5, .kind = GidKind::roce_v2, .scope = GidScope::ipv4, .address = "a"}};
  EXPECT_EQ(best_gid(gids), 1U);
}

TEST(BestGid, ThereIsNoneAmongNone) {
  EXPECT_EQ(best_gid({}), std::nullopt);
}

}  // namespace
}  // namespace framewire
