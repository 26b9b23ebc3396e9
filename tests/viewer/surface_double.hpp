// A surface of which a test changes what it needs.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "viewer/headless.hpp"

namespace framewire::test {

/// Draws on a small headless surface, which keeps no content between pictures, as a window keeps none.
class SurfaceDouble : public Surface {
 public:
  /// With a `refresh_hz` it is synchronised with a screen.
  explicit SurfaceDouble(std::optional<double> refresh_hz = {}) : headless_({64, 36}, refresh_hz) {}

  SurfaceEvents wait_events(std::int64_t deadline_ns) noexcept override { return headless_.wait_events(deadline_ns); }
  void attach() override { headless_.attach(); }
  void detach() noexcept override { headless_.detach(); }
  Size begin() noexcept override { return headless_.begin(); }
  std::optional<Refresh> next_refresh(std::int64_t now_ns) noexcept override { return headless_.next_refresh(now_ns); }
  [[nodiscard]] bool is_synchronised() const noexcept override { return headless_.is_synchronised(); }
  std::optional<Presented> present() noexcept override { return headless_.present(); }
  Image capture(const std::function<void(Size)>& draw) override { return headless_.capture(draw); }
  void wake() noexcept override { headless_.wake(); }
  [[nodiscard]] Size size() const noexcept override { return headless_.size(); }
  [[nodiscard]] bool may_be_visible() const noexcept override { return headless_.may_be_visible(); }
  [[nodiscard]] std::string describe() const override { return "a test's"; }

 private:
  Headless headless_;
};

}  // namespace framewire::test
