#include "viewer/composition.hpp"

#include "base/clock.hpp"
#include "gl/gl.hpp"
#include "viewer/redraw_schedule.hpp"
#include "viewer/report.hpp"

namespace framewire {

namespace {

constexpr std::int64_t status_step_ns = 33 * ns_per_ms;
constexpr std::int64_t panel_step_ns = 500 * ns_per_ms;

bool is_lost(const SubscriberStatus& status) noexcept {
  return status.state != SubscriberState::connected && status.state != SubscriberState::finished;
}

StatusScreen waiting_screen(const StreamFacts& facts) {
  if (facts.status.state == SubscriberState::connected) {
    return {"connected to " + facts.peer_text + ", waiting for the first frame", ""};
  }
  const std::string headline = "waiting for " + facts.peer_text;
  return {headline, facts.status.message == headline ? "" : facts.status.message};
}

StatusScreen lost_screen(const StreamFacts& facts) {
  if (facts.status.state == SubscriberState::failed) {
    return {"lost " + facts.peer_text, facts.status.message};
  }
  return {"lost " + facts.peer_text + "; reconnecting", facts.lost_message};
}

}  // namespace

Composition::Composition(Layer& layer, Statistics& statistics) : layer_(layer), statistics_(statistics) {}

void Composition::draw(Size surface, const StreamFacts& facts, const SubscriberCounts& counts,
                       const std::optional<Pacing>& pacing, std::int64_t now_ns) {
  glDisable(GL_BLEND);
  const bool has_picture = layer_.has_picture();
  if (has_picture) {
    glClearColor(0, 0, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    layer_.draw(surface, facts.status.format ? facts.status.format->sample_aspect_ratio : Rational{1, 1}, now_ns);
    glViewport(0, 0, static_cast<GLsizei>(surface.width), static_cast<GLsizei>(surface.height));
  } else {
    clear_for_waiting_picture(surface);
  }
  const bool has_status_screen = !has_picture || is_lost(facts.status);
  if (!(has_status_screen || panel_.is_shown()) || !overlay_.begin(surface)) {
    return;
  }
  if (!has_picture) {
    draw_waiting_picture(overlay_, surface, waiting_screen(facts), now_ns);
  } else if (has_status_screen) {
    draw_lost_banner(overlay_, surface, lost_screen(facts), now_ns);
  }
  if (panel_.is_shown()) {
    panel_.draw(overlay_, surface, statistics_, counts, panel_facts(facts, pacing), now_ns);
  }
  overlay_.finish();
}

std::int64_t Composition::step_ns(const StreamFacts& facts) const noexcept {
  if (!layer_.has_picture() || is_lost(facts.status)) {
    return status_step_ns;
  }
  return panel_.is_shown() ? panel_step_ns : RedrawSchedule::never_ns;
}

PanelFacts Composition::panel_facts(const StreamFacts& facts, const std::optional<Pacing>& pacing) const {
  return {.format = facts.status.format ? describe(*facts.status.format) : "",
          .colour = facts.status.format ? describe_colour(*facts.status.format) : "",
          .pacing = pacing ? describe(*pacing) : "",
          .start_line = facts.status.start_line,
          .upload_path = std::string(name(layer_.method())) + ", " + short_renderer()};
}

std::string short_renderer() {
  const std::string renderer = gl_renderer();
  return renderer.substr(0, renderer.find(" ("));
}

}  // namespace framewire
