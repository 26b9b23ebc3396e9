// A GL context for tests that draw.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "gl/egl_context.hpp"

namespace framewire {

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
