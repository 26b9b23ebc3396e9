#include "transport/session/rdma_fallback_policy.hpp"

#include <gtest/gtest.h>

namespace framewire {
namespace {

TEST(RdmaFallbackPolicy, ComesWithSessionsThatBringNothing) {
  RdmaFallbackPolicy policy;
  policy.session_was_lost(true, false, "first");
  EXPECT_EQ(policy.why(), "");
  policy.session_was_lost(true, false, "second");
  EXPECT_EQ(policy.why(), "it connects, but brought no frame: second");
}

TEST(RdmaFallbackPolicy, IsOverWithTheSessionThatDidWithout) {
  RdmaFallbackPolicy policy;
  policy.session_was_lost(true, false, "first");
  policy.session_was_lost(true, false, "second");
  policy.session_was_lost(false, true, "third");
  EXPECT_EQ(policy.why(), "");
  policy.session_was_lost(true, false, "fourth");
  EXPECT_EQ(policy.why(), "");
  policy.session_was_lost(true, false, "fifth");
  EXPECT_NE(policy.why(), "");
}

TEST(RdmaFallbackPolicy, IsDispelledByAFrame) {
  RdmaFallbackPolicy policy;
  policy.session_was_lost(true, false, "first");
  policy.session_was_lost(true, true, "second");
  policy.session_was_lost(true, false, "third");
  EXPECT_EQ(policy.why(), "");
}

TEST(RdmaFallbackPolicy, NeverEndsWhereMemoryCannotBeHad) {
  RdmaFallbackPolicy policy;
  policy.set_unusable("no memory");
  policy.session_was_lost(false, true, "first");
  EXPECT_EQ(policy.why(), "no memory");
}

}  // namespace
}  // namespace framewire
