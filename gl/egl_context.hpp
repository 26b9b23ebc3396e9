// OpenGL without a window.
#pragma once

#include "gl/gl.hpp"

namespace framewire {

/// A headless OpenGL 4.5 core context with neither window nor surface: what draws goes to framebuffer objects. It
/// belongs to the thread that made it current, and is destroyed there.
class EglContext {
 public:
  /// On the first device that EGL lists and that makes such a context, else on Mesa's surfaceless platform. Throws
  /// Error (failed) that says what was tried and why it did not work.
  static EglContext create();

  EglContext(EglContext&& other) noexcept;
  EglContext& operator=(EglContext&&) = delete;
  EglContext(const EglContext&) = delete;
  EglContext& operator=(const EglContext&) = delete;
  ~EglContext();

  /// Makes it the calling thread's context; the first time it also loads the GL functions. Throws Error (failed).
  void make_current();

  /// Leaves the calling thread without a context, so that another may take this one.
  void release_current() noexcept;

 private:
  EglContext(void* display, void* context) noexcept : display_(display), context_(context) {}

  // EGLDisplay and EGLContext, which are void*: EGL's header stays out of this one.
  void* display_;
  void* context_;
  bool is_loaded_ = false;
};

}  // namespace framewire
