#include "transport/session/link_fallback_policy.hpp"

#include <gtest/gtest.h>

namespace framewire {
namespace {

using Avoided = std::map<LinkKind, std::string>;

TEST(LinkFallbackPolicy, AvoidsALinkAfterSessionsWithoutAFrame) {
  LinkFallbackPolicy policy;
  policy.session_was_lost(LinkKind::rdma, false, "first");
  EXPECT_EQ(policy.avoided(), Avoided());
  policy.session_was_lost(LinkKind::rdma, false, "second");
  EXPECT_EQ(policy.avoided(), (Avoided{{LinkKind::rdma, "it connects, but brought no frame: second"}}));
}

TEST(LinkFallbackPolicy, TriesTheLinkAgainAfterTheSessionWithoutIt) {
  LinkFallbackPolicy policy;
  policy.session_was_lost(LinkKind::rdma, false, "first");
  policy.session_was_lost(LinkKind::rdma, false, "second");
  policy.session_was_lost(LinkKind::tcp, true, "third");
  EXPECT_EQ(policy.avoided(), Avoided());
  policy.session_was_lost(LinkKind::rdma, false, "fourth");
  EXPECT_EQ(policy.avoided(), Avoided());
  policy.session_was_lost(LinkKind::rdma, false, "fifth");
  EXPECT_TRUE(policy.avoided().contains(LinkKind::rdma));
}

TEST(LinkFallbackPolicy, TrustsALinkAgainAfterAFrame) {
  LinkFallbackPolicy policy;
  policy.session_was_lost(LinkKind::rdma, false, "first");
  policy.session_was_lost(LinkKind::rdma, true, "second");
  policy.session_was_lost(LinkKind::rdma, false, "third");
  EXPECT_EQ(policy.avoided(), Avoided());
}

TEST(LinkFallbackPolicy, AvoidsAnUnusableLinkForGood) {
  LinkFallbackPolicy policy;
  policy.set_unusable(LinkKind::rdma, "no memory");
  policy.session_was_lost(LinkKind::tcp, true, "first");
  EXPECT_EQ(policy.avoided(), (Avoided{{LinkKind::rdma, "no memory"}}));
}

TEST(LinkFallbackPolicy, NeverAvoidsALinkThatAlwaysWorks) {
  LinkFallbackPolicy policy;
  for (int i = 0; i < 5; ++i) {
    policy.session_was_lost(LinkKind::tcp, false, "lost");
  }
  EXPECT_EQ(policy.avoided(), Avoided());
}

}  // namespace
}  // namespace framewire
