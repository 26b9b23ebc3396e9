#include "gl/drawing_plan.hpp"

#include <algorithm>
#include <cmath>

namespace framewire {

namespace {

/// One axis. Coordinates run as the frame's do.
struct Axis {
  double frame_length;
  double target_begin;
  double target_length;
  double framebuffer_length;

  [[nodiscard]] double scale() const noexcept { return frame_length / target_length; }
  [[nodiscard]] bool is_whole() const noexcept {
    return target_begin >= 0 && target_begin + target_length <= framebuffer_length;
  }
  [[nodiscard]] Interval visible() const noexcept {
    return {std::max(target_begin, 0.0), std::min(target_begin + target_length, framebuffer_length)};
  }
  [[nodiscard]] Interval source_of(const Interval& drawn) const noexcept {
    return {(drawn.begin - target_begin) * scale(), (drawn.end - target_begin) * scale()};
  }
  [[nodiscard]] Interval visible_source() const noexcept { return source_of(visible()); }
  /// A whole number of target pixels that contains the visible ones. Begins in the first of the frame pixels that the
  /// filter needs, which reach `margin` beyond the visible ones. Ends a pixel after the last, maybe beyond the frame.
  [[nodiscard]] Interval drawn_with(double margin) const noexcept {
    const double first = std::max(std::floor(visible_source().begin - margin), 0.0);
    return {std::ceil(first / scale() + target_begin), std::ceil(visible().end + (margin + 1.0) / scale())};
  }
  [[nodiscard]] Interval at_least_a_pixel() const noexcept {
    const Interval source = visible_source();
    if (source.length() >= 1.0) {
      return source;
    }
    const double pixel = std::clamp(std::floor((source.begin + source.end) / 2), 0.0, frame_length - 1.0);
    return {pixel, pixel + 1.0};
  }
};

/// `reach`: of the filter, in frame pixels or, where these are smaller, in target pixels.
bool plan_detour(const Axis& x, const Axis& y, double reach, DrawingPlan& plan) noexcept {
  constexpr double longest_side = 16384;  // of a texture, in every OpenGL 4.5
  constexpr double most_pixels = 1 << 24;
  const Interval drawn_x = x.drawn_with(reach * std::max(x.scale(), 1.0));
  const Interval drawn_y = y.drawn_with(reach * std::max(y.scale(), 1.0));
  if (std::max(drawn_x.length(), drawn_y.length()) > longest_side ||
      drawn_x.length() * drawn_y.length() > most_pixels) {
    return false;
  }
  plan.source_x = x.source_of(drawn_x);
  plan.source_y = y.source_of(drawn_y);
  plan.target_x = {0, drawn_x.length()};
  plan.target_y = {0, drawn_y.length()};
  plan.detour = {static_cast<int>(drawn_x.begin), static_cast<int>(drawn_y.begin), static_cast<int>(drawn_x.length()),
                 static_cast<int>(drawn_y.length())};
  return true;
}

}  // namespace

DrawingPlan plan_drawing(Size frame, const Rectangle& target, Size framebuffer, bool flip_y) noexcept {
  DrawingPlan plan;
  if (frame.width == 0 || frame.height == 0 || target.width <= 0 || target.height <= 0) {
    return plan;
  }
  const double top = flip_y ? target.y : static_cast<double>(framebuffer.height) - target.y - target.height;
  const Axis x{static_cast<double>(frame.width), static_cast<double>(target.x), static_cast<double>(target.width),
               static_cast<double>(framebuffer.width)};
  const Axis y{static_cast<double>(frame.height), top, static_cast<double>(target.height),
               static_cast<double>(framebuffer.height)};
  plan.is_visible = x.visible().length() > 0 && y.visible().length() > 0;
  plan.is_scaled = x.scale() != 1.0 || y.scale() != 1.0;
  plan.is_scaled_down = x.scale() > 1.0 && y.scale() > 1.0;
  if (!plan.is_visible) {
    return plan;
  }
  const bool is_cut = plan.is_scaled && !(x.is_whole() && y.is_whole());
  constexpr double of_lanczos = 3;
  if (is_cut && (plan_detour(x, y, of_lanczos, plan) || plan_detour(x, y, 0, plan))) {
    if (!flip_y) {
      plan.detour->y = static_cast<int>(framebuffer.height) - plan.detour->y - plan.detour->height;
    }
    return plan;
  }
  plan.source_x = x.at_least_a_pixel();
  plan.source_y = y.at_least_a_pixel();
  plan.target_x = x.visible();
  plan.target_y = y.visible();
  return plan;
}

}  // namespace framewire
