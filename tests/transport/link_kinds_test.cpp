#include "transport/link_kinds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "transport/links.hpp"

namespace framewire {
namespace {

/// For tests: no link may take the last number.
constexpr LinkKind no_link{255};

TEST(LinkKinds, EachHasOneEntryWithNamesAndANumberOfItsOwn) {
  std::set<std::string_view> names;
  std::set<std::string_view> wire_names;
  std::set<LinkKind> numbers;
  for (const LinkProvider* const provider : link_providers()) {
    const LinkTraits& link = provider->traits();
    EXPECT_EQ(&traits(link.kind), &link) << link.name;
    EXPECT_TRUE(names.insert(link.name).second) << link.name;
    EXPECT_TRUE(wire_names.insert(link.wire_name).second) << link.wire_name;
    EXPECT_TRUE(numbers.insert(link.kind).second) << link.name;
    EXPECT_NE(link.kind, LinkKind{0}) << link.name;
    EXPECT_NE(link.kind, no_link) << link.name;
    EXPECT_EQ(link.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789"), std::string_view::npos)
        << link.name << ": fields of messages begin with it, up to an underscore";
    EXPECT_FALSE(link.has_own_listener && link.can_be_encrypted) << link.name << ": sessions put TLS on sockets only";
    EXPECT_EQ(link_kind_from_name(link.name), link.kind);
    EXPECT_EQ(link_kind_from_wire(link.wire_name), link.kind);
    EXPECT_EQ(link_kind_from_number(static_cast<std::uint8_t>(link.kind)), link.kind);
  }
  const std::vector<LinkKind> order = links_best_first();
  EXPECT_EQ(order.size(), numbers.size());
  EXPECT_LT(std::ranges::find(order, LinkKind::local), std::ranges::find(order, LinkKind::rdma));
  EXPECT_LT(std::ranges::find(order, LinkKind::rdma), std::ranges::find(order, LinkKind::tcp));
}

TEST(LinkKinds, WhatIsNoneIsNone) {
  EXPECT_FALSE(link_kind_from_name("local2"));
  EXPECT_FALSE(link_kind_from_name(""));
  EXPECT_FALSE(link_kind_from_wire("local"));  // the name of the protocol's previous version
  EXPECT_FALSE(link_kind_from_wire("carrier pigeon"));
  EXPECT_FALSE(link_kind_from_number(0));
  EXPECT_FALSE(link_kind_from_number(static_cast<std::uint8_t>(no_link)));
  EXPECT_EQ(name(no_link), "unknown");
  EXPECT_EQ(find_link_provider(no_link), nullptr);
  EXPECT_THROW((void)link_provider(no_link), Error);
}

/// Other releases read these names, so they must not change.
TEST(LinkKinds, HaveTheWordsAndNumbersOfTheWire) {
  EXPECT_EQ(link_kind_from_number(1), LinkKind::local);
  EXPECT_EQ(link_kind_from_number(2), LinkKind::tcp);
  EXPECT_EQ(link_kind_from_number(3), LinkKind::rdma);
  EXPECT_EQ(traits(LinkKind::local).wire_name, "local2");
  EXPECT_EQ(traits(LinkKind::tcp).wire_name, "tcp");
  EXPECT_EQ(traits(LinkKind::rdma).wire_name, "rdma");
}

}  // namespace
}  // namespace framewire
