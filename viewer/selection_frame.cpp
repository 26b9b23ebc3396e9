#include "viewer/selection_frame.hpp"

#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace framewire {

namespace {

constexpr ImU32 frame_colour = IM_COL32(82, 212, 199, 255);
constexpr ImU32 around_frame_colour = IM_COL32(6, 8, 12, 140);  // so that it is seen on bright pictures
constexpr ImU32 hidden_shade_colour = IM_COL32(6, 8, 12, 110);
constexpr ImU32 hidden_text_colour = IM_COL32(236, 240, 245, 255);
constexpr ImU32 text_shade_colour = IM_COL32(16, 19, 26, 220);

/// Boxes are filled rather than lines drawn: these lie exactly on pixels.
void fill(ImDrawList& list, float left, float top, float right, float bottom, ImU32 colour) {
  if (right > left && bottom > top) {
    list.AddRectFilled({left, top}, {right, bottom}, colour);
  }
}

struct FrameSides {
  float left, top, right, bottom;

  [[nodiscard]] FrameSides smaller_by(float pixels) const noexcept {
    return {left + pixels, top + pixels, right - pixels, bottom - pixels};
  }
  [[nodiscard]] float width() const noexcept { return right - left; }
  [[nodiscard]] float height() const noexcept { return bottom - top; }
};

void draw_line(ImDrawList& list, const FrameSides& at, float thickness, ImU32 colour) {
  fill(list, at.left, at.top, at.right, at.top + thickness, colour);
  fill(list, at.left, at.bottom - thickness, at.right, at.bottom, colour);
  fill(list, at.left, at.top + thickness, at.left + thickness, at.bottom - thickness, colour);
  fill(list, at.right - thickness, at.top + thickness, at.right, at.bottom - thickness, colour);
}

/// A whole number of dashes and one more than gaps, so that every corner is drawn.
void draw_dashes(ImDrawList& list, const FrameSides& at, float thickness, float dash, ImU32 colour) {
  const auto along = [dash](float length, auto&& draw) {
    const int count = 2 * std::clamp(static_cast<int>(length / (2 * dash)), 1, 500) + 1;
    const float step = length / static_cast<float>(count);
    for (int i = 0; i < count; i += 2) {
      draw(std::round(step * static_cast<float>(i)), std::round(step * static_cast<float>(i + 1)));
    }
  };
  along(at.width(), [&](float from, float to) {
    fill(list, at.left + from, at.top, at.left + to, at.top + thickness, colour);
    fill(list, at.left + from, at.bottom - thickness, at.left + to, at.bottom, colour);
  });
  along(at.height(), [&](float from, float to) {
    fill(list, at.left, at.top + from, at.left + thickness, at.top + to, colour);
    fill(list, at.right - thickness, at.top + from, at.right, at.top + to, colour);
  });
}

/// Two bars at each corner, inside the box: it may fill the surface.
void draw_corners(ImDrawList& list, const FrameSides& at, float thickness, float length, ImU32 colour) {
  for (const bool is_right : {false, true}) {
    const float from = is_right ? at.right - length : at.left;
    const float edge = is_right ? at.right - thickness : at.left;
    fill(list, from, at.top, from + length, at.top + thickness, colour);
    fill(list, from, at.bottom - thickness, from + length, at.bottom, colour);
    fill(list, edge, at.top, edge + thickness, at.top + length, colour);
    fill(list, edge, at.bottom - length, edge + thickness, at.bottom, colour);
  }
}

void draw_text(ImDrawList& list, const Overlay& overlay, const FrameSides& at, const std::string& text) {
  ImFont& font = *overlay.text_font();
  const ImVec2 size = font.CalcTextSizeA(font.FontSize, FLT_MAX, 0, text.c_str());
  const float padding = 8 * overlay.scale();
  const ImVec2 from{std::round((at.left + at.right - size.x) / 2), std::round((at.top + at.bottom - size.y) / 2)};
  list.AddRectFilled({from.x - padding, from.y - padding / 2},
                     {from.x + size.x + padding, from.y + size.y + padding / 2}, text_shade_colour, padding / 2);
  list.AddText(&font, font.FontSize, from, hidden_text_colour, text.c_str());
}

}  // namespace

void draw_selection_frame(const Overlay& overlay, const PictureRectangle& box, const SelectionFrame& frame) {
  if (is_empty(box)) {
    return;
  }
  ImDrawList& list = *ImGui::GetBackgroundDrawList();
  const FrameSides sides{static_cast<float>(box.x), static_cast<float>(box.y), static_cast<float>(box.x + box.width),
                         static_cast<float>(box.y + box.height)};
  const float scale = std::max(overlay.scale(), 1.0F);
  const float thin = std::round(2 * scale);
  const float thick = 2 * thin;
  list.PushClipRect({sides.left, sides.top}, {sides.right, sides.bottom}, true);
  if (frame.is_hidden) {
    fill(list, sides.left, sides.top, sides.right, sides.bottom, hidden_shade_colour);
    draw_dashes(list, sides, thin, 8 * scale, frame_colour);
  } else {
    draw_line(list, sides.smaller_by(thin), 1, around_frame_colour);
    draw_line(list, sides, thin, frame_colour);
  }
  const float length = std::min({18 * scale, sides.width() / 3, sides.height() / 3});
  draw_corners(list, sides, thick, std::round(length), frame_colour);
  if (!frame.text.empty()) {
    draw_text(list, overlay, sides, frame.text + " (hidden)");
  }
  list.PopClipRect();
}

}  // namespace framewire
