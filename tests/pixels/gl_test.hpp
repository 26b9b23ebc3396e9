// A GL context for tests that draw.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "gl/egl_context.hpp"

namespace framewire {

/// By how much a driver may be wrong, in steps of 8 bits, when it rounds a shader's result. Direct3D 11 allows as much;
/// OpenGL has no number.
inline constexpr double rounding_tolerance = 0.6;

/// One headless context for all tests of a suite: creating one takes longer than most tests.
class GlTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    context = std::make_unique<EglContext>(EglContext::create());
    context->make_current();
  }
  static void TearDownTestSuite() { context.reset(); }

  void TearDown() override { EXPECT_EQ(glGetError(), static_cast<GLenum>(GL_NO_ERROR)); }

 private:
  static inline std::unique_ptr<EglContext> context;
};

}  // namespace framewire
