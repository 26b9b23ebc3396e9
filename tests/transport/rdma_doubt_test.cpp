#include "transport/session/rdma_doubt.hpp"

#include <gtest/gtest.h>

namespace framewire {
namespace {

TEST(RdmaDoubt, ComesWithSessionsThatBringNothing) {
  RdmaDoubt doubt;
  doubt.session_was_lost(true, false, "first");
  EXPECT_EQ(doubt.why(), "");
  doubt.session_was_lost(true, false, "second");
  EXPECT_EQ(doubt.why(), "it connects, but brought no frame: second");
}

TEST(RdmaDoubt, IsOverWithTheSessionThatDidWithout) {
  RdmaDoubt doubt;
  doubt.session_was_lost(true, false, "first");
  doubt.session_was_lost(true, false, "second");
  doubt.session_was_lost(false, true, "third");
  EXPECT_EQ(doubt.why(), "");
  doubt.session_was_lost(true, false, "fourth");
  EXPECT_EQ(doubt.why(), "");
  doubt.session_was_lost(true, false, "fifth");
  EXPECT_NE(doubt.why(), "");
}

TEST(RdmaDoubt, IsDispelledByAFrame) {
  RdmaDoubt doubt;
  doubt.session_was_lost(true, false, "first");
  doubt.session_was_lost(true, true, "second");
  doubt.session_was_lost(true, false, "third");
  EXPECT_EQ(doubt.why(), "");
}

TEST(RdmaDoubt, NeverEndsWhereMemoryCannotBeHad) {
  RdmaDoubt doubt;
  doubt.set_unusable("no memory");
  doubt.session_was_lost(false, true, "first");
  EXPECT_EQ(doubt.why(), "no memory");
}

}  // namespace
}  // namespace framewire
