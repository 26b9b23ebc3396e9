#include "transport/link_kinds.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string_view>

#include "transport/endpoint_options.hpp"

namespace framewire {
namespace {

TEST(LinkKinds, EachHasOneEntryWithNamesAndANumberOfItsOwn) {
  std::set<std::string_view> names;
  std::set<std::string_view> wire_names;
  std::set<int> numbers;
  for (const LinkTraits& link : link_kinds) {
    EXPECT_EQ(&traits(link.kind), &link) << link.name;
    EXPECT_TRUE(names.insert(link.name).second) << link.name;
    EXPECT_TRUE(wire_names.insert(link.wire_name).second) << link.wire_name;
    EXPECT_TRUE(numbers.insert(link.number).second) << link.name;
    EXPECT_NE(link.number, 0) << link.name;
    EXPECT_EQ(link_kind_from_name(link.name), link.kind);
    EXPECT_EQ(link_kind_from_wire(link.wire_name), link.kind);
    EXPECT_EQ(link_kind_from_number(link.number), link.kind);
  }
  EXPECT_EQ(link_kinds.size(), 3U);
  EXPECT_EQ(links_best_first, (std::array{LinkKind::local, LinkKind::rdma, LinkKind::tcp}));
}

TEST(LinkKinds, WhatIsNoneIsNone) {
  EXPECT_FALSE(link_kind_from_name("local2"));
  EXPECT_FALSE(link_kind_from_name(""));
  EXPECT_FALSE(link_kind_from_wire("local"));  // the name of the protocol's previous version
  EXPECT_FALSE(link_kind_from_wire("carrier pigeon"));
  EXPECT_FALSE(link_kind_from_number(0));
  EXPECT_FALSE(link_kind_from_number(4));
}

/// Other releases read these names, so they must not change.
TEST(LinkKinds, HaveTheWordsAndNumbersOfTheWire) {
  EXPECT_EQ(traits(LinkKind::local).number, 1);
  EXPECT_EQ(traits(LinkKind::tcp).number, 2);
  EXPECT_EQ(traits(LinkKind::rdma).number, 3);
  EXPECT_EQ(traits(LinkKind::local).wire_name, "local2");
  EXPECT_EQ(traits(LinkKind::tcp).wire_name, "tcp");
  EXPECT_EQ(traits(LinkKind::rdma).wire_name, "rdma");
}

}  // namespace
}  // namespace framewire
