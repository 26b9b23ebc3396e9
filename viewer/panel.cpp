#include "viewer/panel.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "base/bandwidth.hpp"
#include "viewer/report.hpp"

namespace framewire {

namespace {

const ImVec4 value_colour{0.93F, 0.95F, 0.97F, 1};
const ImVec4 label_colour{0.58F, 0.64F, 0.71F, 1};
const ImVec4 alarm_colour{0.96F, 0.62F, 0.32F, 1};
const ImVec4 curve_colour{0.32F, 0.83F, 0.78F, 1};

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
  row("skipped", fmt::format("{}   superseded {}", session.frames_skipped, counts.frames_superseded));
  if (session.frames_lost > 0) {
    row("lost", std::to_string(session.frames_lost), alarm_colour);
  }
  if (counts.frames_torn > 0) {
    row("torn", std::to_string(counts.frames_torn), alarm_colour);
  }
}

}  // namespace

void Panel::frame_shown(std::int64_t latency_ns) noexcept {
  latencies_ms_[next_] = static_cast<float>(latency_ns) / 1e6F;
  next_ = (next_ + 1) % latencies_ms_.size();
}

void Panel::draw(const Overlay& overlay, Size surface, Statistics& statistics, const SubscriberCounts& session_counts,
                 const PanelFacts& facts, std::int64_t now_ns) {
  if (now_ns - updated_ns_ >= update_period_ns) {
    rates_ = statistics.take_panel_rates(now_ns);
    updated_ns_ = now_ns;
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
    ImGui::EndTable();
  }
  const float highest = *std::max_element(latencies_ms_.begin(), latencies_ms_.end());
  ImGui::PushStyleColor(ImGuiCol_PlotLines, curve_colour);
  ImGui::PushStyleColor(ImGuiCol_FrameBg, ImVec4{1, 1, 1, 0.05F});
  ImGui::PlotLines("##latency", latencies_ms_.data(), static_cast<int>(latencies_ms_.size()), static_cast<int>(next_),
                   nullptr, 0, std::max(highest * 1.15F, 1.0F), {ImGui::GetContentRegionAvail().x, 44 * scale});
  ImGui::PopStyleColor(2);
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
