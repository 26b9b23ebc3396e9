#include "gl/egl_context.hpp"

#include <glad/egl.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>

#include "base/error.hpp"

namespace framewire {
namespace {

bool draws() {
  GLuint texture = 0;
  glCreateTextures(GL_TEXTURE_2D, 1, &texture);
  const bool is_there = glIsTexture(texture) == GL_TRUE;
  glDeleteTextures(1, &texture);
  return is_there && glGetError() == GL_NO_ERROR;
}

TEST(EglContextTest, MakesOpenGl45WithoutAWindow) {
  EglContext context = EglContext::create();
  context.make_current();
  GLint major = 0;
  GLint minor = 0;
  glGetIntegerv(GL_MAJOR_VERSION, &major);
  glGetIntegerv(GL_MINOR_VERSION, &minor);
  EXPECT_GE(major * 10 + minor, 45);
  EXPECT_FALSE(gl_renderer().empty());
  EXPECT_TRUE(draws());
}

/// If the driver can report resets, the context must have requested that. Otherwise a lost context seems to work.
TEST(EglContextTest, IsToldOfResetsWhereTheDriverCanTell) {
  EglContext context = EglContext::create();
  context.make_current();
  GLint strategy = 0;
  glGetIntegerv(GL_RESET_NOTIFICATION_STRATEGY, &strategy);
  ASSERT_EQ(glGetError(), static_cast<GLenum>(GL_NO_ERROR));
  const std::string extensions = eglQueryString(eglGetCurrentDisplay(), EGL_EXTENSIONS);
  if (extensions.find("EGL_EXT_create_context_robustness") == std::string::npos) {
    GTEST_SKIP() << gl_renderer() << " does not tell of resets";
  }
  EXPECT_EQ(strategy, GL_LOSE_CONTEXT_ON_RESET);
}

TEST(EglContextTest, MovesToAnotherThreadWhenItWasReleased) {
  EglContext context = EglContext::create();
  context.make_current();
  bool refused = false;
  std::thread([&] {
    try {
      context.make_current();
    } catch (const Error&) {
      refused = true;
    }
  }).join();
  EXPECT_TRUE(refused) << "it was still current here";

  context.release_current();
  bool drew = false;
  std::thread([&] {
    context.make_current();
    drew = draws();
    context.release_current();
  }).join();
  EXPECT_TRUE(drew);
}

TEST(EglContextTest, OneContextEndsWithoutTheOther) {
  EglContext first = EglContext::create();
  {
    EglContext second = EglContext::create();
    second.make_current();
    EXPECT_TRUE(draws());
  }
  first.make_current();
  EXPECT_TRUE(draws());
  EglContext moved = std::move(first);
  moved.make_current();
  EXPECT_TRUE(draws());
}

}  // namespace
}  // namespace framewire
