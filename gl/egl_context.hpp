// OpenGL without a window.
#pragma once

#include <optional>
#include <string>
#include <string_view>

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

  /// On the GPU of a DRM node ("/dev/dri/renderD128"), or on the processor if LIBGL_ALWAYS_SOFTWARE asks for that.
  /// Throws Error (failed) that says why not.
  static EglContext create_on(const std::string& drm_node);

  EglContext(EglContext&& other) noexcept;
  EglContext& operator=(EglContext&&) = delete;
  EglContext(const EglContext&) = delete;
  EglContext& operator=(const EglContext&) = delete;
  ~EglContext();

  /// Makes it the calling thread's context. The first call also loads the GL functions. Throws Error (failed).
  void make_current();
  /// The same, but loads them only if no context has: for a thread beside others that draw. Throws Error (failed).
  void make_current_beside_others();

  /// Detaches the context from the calling thread, so that another thread can make it current.
  void release_current() noexcept;

  /// Whether the display has an extension of EGL.
  [[nodiscard]] bool has_extension(std::string_view name) const noexcept;
  /// EGLDisplay.
  [[nodiscard]] void* display() const noexcept { return display_; }

 private:
  EglContext(void* display, void* context) noexcept : display_(display), context_(context) {}

  // EGLDisplay and EGLContext; void* here so that this header does not include EGL's.
  void* display_;
  void* context_;
  bool is_loaded_ = false;
};

}  // namespace framewire
