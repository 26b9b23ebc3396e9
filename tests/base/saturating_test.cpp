#include "base/saturating.hpp"

#include <gtest/gtest.h>

namespace framewire {
namespace {

TEST(Saturating, WhatFitsIsExact) {
  EXPECT_EQ(saturating_add(INT64_MAX, INT64_MIN), -1);
  EXPECT_EQ(saturating_subtract(-1, INT64_MAX), INT64_MIN);
  EXPECT_EQ(saturating_multiply(INT64_MAX / 2, 2), INT64_MAX - 1);
}

TEST(Saturating, WhatDoesNotFitIsTheNearest) {
  EXPECT_EQ(saturating_add(INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(saturating_add(INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(saturating_subtract(0, INT64_MIN), INT64_MAX);
  EXPECT_EQ(saturating_subtract(-2, INT64_MAX), INT64_MIN);
  EXPECT_EQ(saturating_multiply(INT64_MAX, 2), INT64_MAX);
  EXPECT_EQ(saturating_multiply(-1, INT64_MIN), INT64_MAX);
  EXPECT_EQ(saturating_multiply(INT64_MIN, 2), INT64_MIN);
  EXPECT_EQ(saturating_multiply(-2, INT64_MAX), INT64_MIN);
}

}  // namespace
}  // namespace framewire
