#include "viewer/status_screen.hpp"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/clock.hpp"
#include "gl/gl.hpp"

namespace framewire {

namespace {

constexpr ImU32 title_colour = IM_COL32(236, 240, 245, 255);
constexpr ImU32 text_colour = IM_COL32(168, 178, 192, 255);
constexpr ImU32 shade_colour = IM_COL32(6, 8, 12, 150);
constexpr ImU32 banner_colour = IM_COL32(16, 19, 26, 235);
constexpr ImU32 warning_colour = IM_COL32(240, 176, 76, 255);

constexpr ImU32 top_colour = IM_COL32(23, 29, 39, 255);  // of the background
constexpr ImU32 bottom_colour = IM_COL32(9, 11, 16, 255);

/// Text in a small box is no smaller than this part of its size on the whole surface.
constexpr float smallest_text = 0.7F;
/// And no smaller than this, in pixels: below it letters run together.
constexpr float smallest_height = 13;

constexpr int wire_cells = 15;
constexpr std::int64_t pulse_period_ns = 3 * ns_per_s;

/// Phase of an animation with `period_ns`, 0 … 1.
float phase(std::int64_t now_ns, std::int64_t period_ns) noexcept {
  return static_cast<float>(static_cast<double>(now_ns % period_ns) / static_cast<double>(period_ns));
}

ImU32 with_alpha(int red, int green, int blue, float alpha) noexcept {
  return IM_COL32(red, green, blue, static_cast<int>(std::clamp(alpha, 0.0F, 1.0F) * 255));
}

/// A font in a size.
struct Text {
  ImFont* font;
  float factor;  // to the size that the font was loaded in

  [[nodiscard]] float height() const noexcept { return font->FontSize * factor; }
  [[nodiscard]] ImVec2 size(const std::string& text, float wrap_pixels) const {
    return font->CalcTextSizeA(height(), FLT_MAX, wrap_pixels, text.c_str());
  }
  void draw(ImDrawList& list, ImVec2 at, ImU32 colour, const std::string& text, float wrap_pixels) const {
    list.AddText(font, height(), at, colour, text.c_str(), nullptr, wrap_pixels);
  }
};

/// The part of the surface that is drawn on; nothing is drawn beyond it.
class BoxPainter {
 public:
  BoxPainter(ImDrawList& list, const PictureRectangle& box)
      : list_(list),
        from_(static_cast<float>(box.x), static_cast<float>(box.y)),
        to_(static_cast<float>(box.x + box.width), static_cast<float>(box.y + box.height)) {
    list_.PushClipRect(from_, to_, true);
  }
  ~BoxPainter() { list_.PopClipRect(); }
  BoxPainter(const BoxPainter&) = delete;
  BoxPainter& operator=(const BoxPainter&) = delete;

  [[nodiscard]] ImVec2 from() const noexcept { return from_; }
  [[nodiscard]] ImVec2 to() const noexcept { return to_; }
  [[nodiscard]] float width() const noexcept { return to_.x - from_.x; }
  [[nodiscard]] float height() const noexcept { return to_.y - from_.y; }
  /// 1 for 720 lines, and at most Overlay::scale(), which is for the whole surface.
  [[nodiscard]] float scale(float of_surface) const noexcept {
    return std::min(of_surface, std::max(std::min(height(), width() * 0.75F) / 720, 0.2F));
  }

 private:
  ImDrawList& list_;
  ImVec2 from_;
  ImVec2 to_;
};

/// Of a box of this scale.
Text readable_text(const Overlay& overlay, float scale) {
  ImFont* const font = overlay.text_font();
  return {font, std::max({scale / overlay.scale(), smallest_text, smallest_height / font->FontSize})};
}

void centred_text(ImDrawList& list, const Text& font, float centre_x, float y, ImU32 colour, const std::string& text,
                  float wrap_pixels) {
  const ImVec2 size = font.size(text, wrap_pixels);
  font.draw(list, {std::round(centre_x - size.x / 2), std::round(y)}, colour, text, wrap_pixels);
}

/// A row of small cells (frames on a wire) with a light that runs along it.
void draw_wire(ImDrawList& list, float centre_x, float y, float scale, std::int64_t now_ns) {
  const float pitch = std::round(22 * scale);
  const float half_width = std::round(6 * scale);
  const float half_height = std::round(3.5F * scale);
  const float light = phase(now_ns, pulse_period_ns) * (wire_cells + 8) - 4;
  for (int i = 0; i < wire_cells; ++i) {
    const float distance = static_cast<float>(i) - light;
    const float glow = std::exp(-distance * distance / 5);
    const float x = centre_x + (static_cast<float>(i) - (wire_cells - 1) / 2.0F) * pitch;
    const float grown = 1 + 0.25F * glow;
    list.AddRectFilled({x - half_width * grown, y - half_height * grown},
                       {x + half_width * grown, y + half_height * grown},
                       with_alpha(58 + static_cast<int>(24 * glow), 72 + static_cast<int>(140 * glow),
                                  88 + static_cast<int>(112 * glow), 0.55F + 0.45F * glow),
                       half_height >= 2 ? 2 * scale : 0);  // ImGui divides by zero for tiny roundings
  }
}

}  // namespace

/// Clears band by band. That is as fine as 8 bits can show a gradient this dark, and much cheaper than blending on a
/// software renderer.
void clear_for_waiting_picture(Size surface) noexcept {
  constexpr int bands = 24;
  const int width = static_cast<int>(surface.width);
  const int height = static_cast<int>(surface.height);
  const auto mixed = [](float top, float bottom, int band) {
    return (top + (bottom - top) * static_cast<float>(band) / (bands - 1)) / 255;
  };
  glEnable(GL_SCISSOR_TEST);
  for (int band = 0; band < bands; ++band) {
    const int top = height * band / bands;
    const int bottom = height * (band + 1) / bands;
    glScissor(0, height - bottom, width, bottom - top);
    glClearColor(mixed(23, 9, band), mixed(29, 11, band), mixed(39, 16, band), 1);
    glClear(GL_COLOR_BUFFER_BIT);
  }
  glDisable(GL_SCISSOR_TEST);
}

void draw_waiting_picture(const Overlay& overlay, const StatusPlace& place, const StatusScreen& screen,
                          std::int64_t now_ns) {
  ImDrawList& list = *ImGui::GetBackgroundDrawList();
  const BoxPainter area(list, place.box);
  if (!place.has_background) {
    list.AddRectFilledMultiColor(area.from(), area.to(), top_colour, top_colour, bottom_colour, bottom_colour);
  }
  const float scale = place.has_background ? overlay.scale() : area.scale(overlay.scale());
  const float centre_x = area.from().x + area.width() / 2;
  const float centre_y = area.from().y + area.height() * 0.46F;
  const float wrap = area.width() * 0.86F;
  const Text title{overlay.title_font(), scale / overlay.scale()};
  centred_text(list, title, centre_x, centre_y - title.height() - 30 * scale, title_colour, "framewire", wrap);
  draw_wire(list, centre_x, centre_y, scale, now_ns);
  const Text text = readable_text(overlay, scale);
  float y = centre_y + 38 * scale;
  const char* const ellipsis = screen.is_over ? "" : overlay.has_typography() ? " …" : " ...";
  centred_text(list, text, centre_x, y, screen.is_over ? title_colour : text_colour, screen.headline + ellipsis, wrap);
  y += text.size(screen.headline, wrap).y + 10 * scale;
  if (!screen.detail.empty()) {
    centred_text(list, text, centre_x, y, text_colour, screen.detail, wrap);
  }
}

void draw_lost_banner(const Overlay& overlay, const StatusPlace& place, const StatusScreen& screen,
                      std::int64_t now_ns) {
  ImDrawList& list = *ImGui::GetBackgroundDrawList();
  const BoxPainter area(list, place.box);
  const float scale = place.has_background ? overlay.scale() : area.scale(overlay.scale());
  list.AddRectFilled(area.from(), area.to(), shade_colour);

  const Text text = readable_text(overlay, scale);
  const float padding = 18 * scale;
  const float dot_space = 26 * scale;
  const float wrap = std::min(area.width() * 0.86F, 760 * scale) - 2 * padding - dot_space;
  const ImVec2 headline = text.size(screen.headline, wrap);
  const ImVec2 detail = screen.detail.empty() ? ImVec2{0, 0} : text.size(screen.detail, wrap);
  const float gap = screen.detail.empty() ? 0 : 6 * scale;
  const ImVec2 inner{std::max(headline.x, detail.x) + dot_space, headline.y + gap + detail.y};
  const ImVec2 from{std::round(area.from().x + (area.width() - inner.x) / 2 - padding),
                    std::round(area.from().y + area.height() * 0.5F - inner.y / 2 - padding)};
  const ImVec2 to{from.x + inner.x + 2 * padding, from.y + inner.y + 2 * padding};
  list.AddRectFilled(from, to, banner_colour, 10 * scale);
  list.AddRectFilled(from, {from.x + 5 * scale, to.y}, warning_colour, 10 * scale, ImDrawFlags_RoundCornersLeft);

  const float breath = 0.5F + 0.5F * std::cos(2 * std::numbers::pi_v<float> * phase(now_ns, 2 * ns_per_s));
  list.AddCircleFilled({from.x + padding + 7 * scale, from.y + padding + headline.y / 2}, 5.5F * scale,
                       with_alpha(240, 176, 76, 0.35F + 0.65F * breath));
  const ImVec2 at{from.x + padding + dot_space, from.y + padding};
  text.draw(list, at, title_colour, screen.headline, wrap);
  if (!screen.detail.empty()) {
    text.draw(list, {at.x, at.y + headline.y + gap}, text_colour, screen.detail, wrap);
  }
}

void draw_note(const Overlay& overlay, const StatusPlace& place, const StatusScreen& screen) {
  ImDrawList& list = *ImGui::GetBackgroundDrawList();
  const BoxPainter area(list, place.box);
  const float scale = area.scale(overlay.scale());
  const Text text = readable_text(overlay, scale);
  const float padding = 8 * scale;
  const std::string line = screen.detail.empty() ? screen.headline : screen.headline + ": " + screen.detail;
  const ImVec2 size = text.size(line, 0);
  const float height = size.y + 2 * padding;
  const ImVec2 from{area.from().x + padding,
                    area.to().y - (height + padding) * static_cast<float>(place.notes_below + 1)};
  list.AddRectFilled(from, {from.x + size.x + 2 * padding, from.y + height}, banner_colour);
  text.draw(list, {from.x + padding, from.y + padding}, text_colour, line, 0);
}

}  // namespace framewire
