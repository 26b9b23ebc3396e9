#include "viewer/panel.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <numeric>

#include "base/bandwidth.hpp"
#include "base/clock.hpp"
#include "viewer/report.hpp"

namespace framewire {

namespace {

const ImVec4 value_colour{0.93F, 0.95F, 0.97F, 1};
const ImVec4 label_colour{0.58F, 0.64F, 0.71F, 1};
const ImVec4 alarm_colour{0.96F, 0.62F, 0.32F, 1};
/// Of the stages from `offer` on.
constexpr std::array<ImU32, 5> stage_colours = {IM_COL32(232, 122, 144, 255), IM_COL32(240, 178, 84, 255),
                                                IM_COL32(158, 206, 106, 255), IM_COL32(82, 212, 200, 255),
                                                IM_COL32(110, 150, 240, 255)};

void row(const char* label, const std::string& value, const ImVec4& colour = value_colour) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImGui::TextColored(label_colour, "%s", label);
  ImGui::TableNextColumn();
  ImGui::PushStyleColor(ImGuiCol_Text, colour);
  ImGui::TextUnformatted(value.c_str());
  ImGui::PopStyleColor();
}

void faint_line(const std::string& text) {
  if (!text.empty()) {
    ImGui::PushStyleColor(ImGuiCol_Text, label_colour);
    ImGui::TextWrapped("%s", text.c_str());
    ImGui::PopStyleColor();
  }
}

void draw_rates(const RecentRates& rates, const ViewerCounts& counts, const SubscriberCounts& session) {
  row("rate", fmt::format("{:.1f} fps", rates.frames_per_s));
  row("data", format_bandwidth(rates.gigabytes_per_s * 1e9));
  row("latency", rates.has_latency ? fmt::format("{} ms   p99 {} ms", format_ms(rates.latency_p50_ns),
                                                 format_ms(rates.latency_p99_ns))
                                   : std::string("-"));
  row("shown", std::to_string(counts.frames_shown));
  row("skipped", std::to_string(session.frames_skipped));
  row("superseded", std::to_string(counts.frames_superseded));
  if (session.frames_lost > 0) {
    row("lost", std::to_string(session.frames_lost), alarm_colour);
  }
  if (counts.frames_torn > 0) {
    row("torn", std::to_string(counts.frames_torn), alarm_colour);
  }
}

}  // namespace

/// A stage is shorter than nothing if the machines' clocks are compared badly.
void Panel::frame_shown(const StageTimes& stages) noexcept {
  for (std::size_t i = 0; i < stages_in_graph; ++i) {
    frames_.at(next_).at(i) =
        static_cast<float>(std::max<std::int64_t>(stages.at(i + 1).value_or(0), 0)) / static_cast<float>(ns_per_ms);
  }
  next_ = (next_ + 1) % frames_.size();
  filled_ = std::min(filled_ + 1, frames_.size());
}

void Panel::find_medians() noexcept {
  std::array<float, graph_frames> values{};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(filled_ / 2);
  for (std::size_t i = 0; i < stages_in_graph; ++i) {
    // The first places are filled first.
    const auto end = std::transform(frames_.begin(), frames_.begin() + static_cast<std::ptrdiff_t>(filled_),
                                    values.begin(), [i](const FrameColumn& frame) { return frame.at(i); });
    std::nth_element(values.begin(), std::min(middle, end), end);
    medians_ms_.at(i) = *middle;
  }
}

void Panel::draw_graph(float scale) const {
  static_assert(stage_colours.size() == stages_in_graph);
  const ImVec2 size{ImGui::GetContentRegionAvail().x, 44 * scale};
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  ImGui::Dummy(size);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled(corner, {corner.x + size.x, corner.y + size.y}, IM_COL32(255, 255, 255, 13));
  float highest_ms = 1;
  for (const FrameColumn& frame : frames_) {
    highest_ms = std::max(highest_ms, std::accumulate(frame.begin(), frame.end(), 0.0F) * 1.15F);
  }
  const float step = size.x / static_cast<float>(frames_.size());
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    const float left = corner.x + step * static_cast<float>(i);
    float bottom = corner.y + size.y;
    for (std::size_t stage = 0; stage < stages_in_graph; ++stage) {
      const float top = bottom - frames_.at((next_ + i) % frames_.size()).at(stage) / highest_ms * size.y;
      list.AddRectFilled({left, top}, {left + step, bottom}, stage_colours.at(stage));
      bottom = top;
    }
  }
}

/// The name of each stage in its colour, with its median.
void Panel::draw_legend() const {
  const float right = ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x;
  for (std::size_t i = 0; i < stages_in_graph; ++i) {
    const std::string text = fmt::format("{} {:.1f}", name(static_cast<LatencyStage>(i + 1)), medians_ms_.at(i));
    if (i > 0 &&
        ImGui::GetItemRectMax().x + ImGui::GetStyle().ItemSpacing.x + ImGui::CalcTextSize(text.c_str()).x < right) {
      ImGui::SameLine();
    }
    ImGui::PushStyleColor(ImGuiCol_Text, stage_colours.at(i));
    ImGui::TextUnformatted(text.c_str());
    ImGui::PopStyleColor();
  }
}

void Panel::draw(const Overlay& overlay, Size surface, Statistics& statistics, const SubscriberCounts& session_counts,
                 const PanelFacts& facts, std::int64_t now_ns) {
  if (now_ns - updated_ns_ >= update_period_ns) {
    rates_ = statistics.take_panel_rates(now_ns);
    updated_ns_ = now_ns;
    find_medians();
  }
  const float scale = overlay.scale();
  const float width = std::min(330 * scale, static_cast<float>(surface.width) - 32 * scale);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 8 * scale);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {14 * scale, 12 * scale});
  ImGui::PushStyleVar(ImGuiStyleVar_CellPadding, {0, 2 * scale});
  // On the right, because test pictures and scenes draw their counter on the left.
  ImGui::SetNextWindowPos({static_cast<float>(surface.width) - 16 * scale - width, 16 * scale});
  ImGui::SetNextWindowSize({width, 0});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, ImVec4{0.055F, 0.067F, 0.09F, 0.8F});
  ImGui::Begin("framewire", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoInputs | ImGuiWindowFlags_NoFocusOnAppearing |
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoMove);
  faint_line(facts.stream);
  if (ImGui::BeginTable("rates", 2)) {
    ImGui::TableSetupColumn("label", ImGuiTableColumnFlags_WidthFixed, 84 * scale);
    ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthStretch);
    draw_rates(rates_, statistics.counts(), session_counts);
    if (!facts.recording.empty()) {
      row("recorded", facts.recording);
    }
    ImGui::EndTable();
  }
  draw_graph(scale);
  draw_legend();
  faint_line(facts.format);
  faint_line(facts.colour);
  faint_line(facts.pacing);
  faint_line(facts.clocks);
  faint_line(facts.start_line);
  faint_line(facts.upload_path);
  ImGui::End();
  ImGui::PopStyleColor();
  ImGui::PopStyleVar(3);
}

}  // namespace framewire
