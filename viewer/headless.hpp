// A surface without a display.
#pragma once

#include "gl/egl_context.hpp"
#include "gl/offscreen_target.hpp"
#include "viewer/surface.hpp"

namespace framewire {

/// An offscreen picture with its own EGL context.
class Headless final : public Surface {
 public:
  /// Throws Error if OpenGL 4.5 is not available or does not support the size.
  explicit Headless(Size size);

  [[nodiscard]] Size size() const noexcept override { return target_.size(); }
  void begin() noexcept override { target_.bind(); }
  std::optional<std::int64_t> present() noexcept override;
  Image capture(const std::function<void()>& draw) override;
  SurfaceEvents poll_events() noexcept override { return {}; }
  [[nodiscard]] bool may_be_visible() const noexcept override { return false; }
  [[nodiscard]] std::int64_t poll_interval_ns() const noexcept override;
  [[nodiscard]] std::string describe() const override;

 private:
  EglContext context_;
  OffscreenTarget target_;
};

/// Reads `target` as an opaque image, as on a screen.
Image read_image(const OffscreenTarget& target);

}  // namespace framewire
