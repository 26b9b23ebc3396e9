// A surface without a display.
#pragma once

#include <optional>

#include "gl/egl_context.hpp"
#include "gl/offscreen_target.hpp"
#include "viewer/surface.hpp"
#include "viewer/wake_event.hpp"

namespace framewire {

/// An offscreen picture with its own EGL context.
class Headless final : public Surface {
 public:
  /// With a `refresh_hz` it is presented at regular times, as a screen with vsync is. `device` draws, if there is such
  /// a one. Throws Error if OpenGL 4.5 is not available.
  explicit Headless(Size size, std::optional<double> refresh_hz = {}, const std::optional<DeviceUuid>& device = {});

  SurfaceEvents wait_events(std::int64_t deadline_ns) noexcept override;
  /// Also throws Error if OpenGL does not support the size.
  void attach() override;
  void detach() noexcept override;
  Size begin() noexcept override {
    target_->bind();
    return size_;
  }
  std::optional<Refresh> next_refresh(std::int64_t now_ns) noexcept override;
  [[nodiscard]] bool is_synchronised() const noexcept override { return refresh_hz_.has_value(); }
  [[nodiscard]] bool keeps_content() const noexcept override { return true; }
  std::optional<Presented> present() noexcept override;
  Image capture(const std::function<void(Size)>& draw) override;
  void wake() noexcept override { wake_.wake(); }
  [[nodiscard]] Size size() const noexcept override { return size_; }
  [[nodiscard]] bool may_be_visible() const noexcept override { return false; }
  [[nodiscard]] std::string describe() const override;

 private:
  const Size size_;
  const std::optional<double> refresh_hz_;
  const std::int64_t started_ns_;
  WakeEvent wake_;
  EglContext context_;
  std::optional<OffscreenTarget> target_;  // while attached
};

/// Reads `target` as an opaque image, as on a screen.
Image read_image(const OffscreenTarget& target);

}  // namespace framewire
