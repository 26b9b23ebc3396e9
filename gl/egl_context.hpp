// OpenGL without a window.
#pragma once

#include <optional>

#include "gl/gl.hpp"
#include "memory/block.hpp"

namespace framewire {

/// A headless OpenGL 4.5 core context without a window or surface; draw to framebuffer objects. It belongs to the
/// thread that made it current, and is destroyed there.
class EglContext {
 public:
  /// Tries each EGL device in turn, then Mesa's surfaceless platform; the first success wins, or the one that draws
  /// with the device `wanted`, if there is one. Throws Error (failed) that lists every attempt and its reason.
  static EglContext create(const std::optional<DeviceUuid>& wanted = {});

  EglContext(EglContext&& other) noexcept;
  EglContext& operator=(EglContext&&) = delete;
  EglContext(const EglContext&) = delete;
  EglContext& operator=(const EglContext&) = delete;
  ~EglContext();

  /// Makes it the calling thread's context. The first call also loads the GL functions. Throws Error (failed).
  void make_current();

  /// Detaches the context from the calling thread, so that another thread can make it current.
  void release_current() noexcept;

 private:
  EglContext(void* display, void* context) noexcept : display_(display), context_(context) {}

  // EGLDisplay and EGLContext; void* here so that this header does not include EGL's.
  void* display_;
  void* context_;
  bool is_loaded_ = false;
};

}  // namespace framewire
