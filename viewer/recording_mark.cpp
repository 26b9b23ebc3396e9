#include "viewer/recording_mark.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"

namespace framewire {

namespace {

constexpr ImU32 pill_colour = IM_COL32(16, 19, 26, 200);
constexpr ImU32 dot_colour = IM_COL32(236, 64, 64, 255);
constexpr ImU32 words_colour = IM_COL32(236, 240, 245, 255);

}  // namespace

std::string format_minutes(std::int64_t duration_ns) {
  const std::int64_t seconds = std::max<std::int64_t>(duration_ns, 0) / ns_per_s;
  const std::int64_t hours = seconds / 3600;
  return hours == 0 ? fmt::format("{}:{:02}", seconds / 60, seconds % 60)
                    : fmt::format("{}:{:02}:{:02}", hours, seconds / 60 % 60, seconds % 60);
}

void draw_recording_mark(const Overlay& overlay, Size surface, const std::string& text) {
  ImDrawList& list = *ImGui::GetBackgroundDrawList();
  const float scale = overlay.scale();
  const ImFont& font = *overlay.text_font();
  const float padding = std::round(9 * scale);
  const float radius = std::round(6 * scale);
  const ImVec2 size = font.CalcTextSizeA(font.FontSize, FLT_MAX, 0, text.c_str());
  const float height = size.y + padding;
  const float width = 2 * radius + size.x + 3 * padding;
  const ImVec2 to{static_cast<float>(surface.width) - 16 * scale, static_cast<float>(surface.height) - 16 * scale};
  const ImVec2 from{std::round(to.x - width), std::round(to.y - height)};
  list.AddRectFilled(from, {from.x + width, from.y + height}, pill_colour, height / 2);
  list.AddCircleFilled({from.x + padding + radius, from.y + height / 2}, radius, dot_colour);
  list.AddText(overlay.text_font(), font.FontSize,
               {from.x + 2 * padding + 2 * radius, from.y + std::round((height - size.y) / 2)}, words_colour,
               text.c_str());
}

}  // namespace framewire
