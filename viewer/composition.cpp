#include "viewer/composition.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "gl/gl.hpp"
#include "viewer/recording_mark.hpp"
#include "viewer/redraw_schedule.hpp"
#include "viewer/report.hpp"
#include "viewer/selection_frame.hpp"
#include "viewer/status_screen.hpp"
#include "viewer/window_recording.hpp"

namespace framewire {

namespace {

constexpr std::int64_t status_step_ns = 33 * ns_per_ms;
constexpr std::int64_t panel_step_ns = 500 * ns_per_ms;

bool is_lost(const SubscriberStatus& status) noexcept {
  return status.state != SubscriberState::connected && status.state != SubscriberState::finished;
}

StatusScreen waiting_screen(const StreamFacts& facts) {
  if (!facts.trouble.empty()) {
    return {"there is no " + facts.peer_text, facts.trouble, true};
  }
  if (facts.status.state == SubscriberState::connected) {
    return {"connected to " + facts.peer_text + ", waiting for the first frame", "", false};
  }
  const std::string headline = "waiting for " + facts.peer_text;
  const bool says_the_same = facts.status.absence == PeerAbsence::to_come;  // perhaps by the peer's address
  return {headline, facts.is_local || says_the_same ? "" : facts.status.message, false};
}

StatusScreen lost_screen(const StreamFacts& facts, const std::string& name) {
  if (!facts.trouble.empty()) {
    return {"lost " + name, facts.trouble, true};
  }
  if (facts.status.state == SubscriberState::failed) {
    return {"lost " + name, facts.status.message, true};
  }
  return {"lost " + name + "; reconnecting", facts.lost_message, false};
}

bool needs_status(const ComposedStream& stream) noexcept {
  return !stream.layer->has_picture() || is_lost(stream.facts->status) || !stream.defect.empty() ||
         !stream.facts->trouble.empty();
}

bool overlaps_most_of(const PictureRectangle& other, const PictureRectangle& box) noexcept {
  const PictureRectangle common = common_part(other, box);
  return 2 * std::int64_t{common.width} * common.height > std::int64_t{other.width} * other.height;
}

/// How many of the notes' boxes lie over a box.
int notes_in(const std::vector<PictureRectangle>& notes, const PictureRectangle& box) noexcept {
  return static_cast<int>(
      std::ranges::count_if(notes, [&](const PictureRectangle& other) { return !is_empty(common_part(other, box)); }));
}

/// Whether its first frame is still to come.
bool is_waiting(const ComposedStream& stream) noexcept {
  return stream.defect.empty() && !stream.layer->has_picture() && stream.facts->status.state != SubscriberState::failed;
}

StatusScreen status_of(const ComposedStream& stream, const std::string& name) {
  if (!stream.defect.empty()) {
    return {name, std::string(stream.defect), true};
  }
  return is_waiting(stream) ? waiting_screen(*stream.facts) : lost_screen(*stream.facts, name);
}

AlphaMode alpha_mode(const StreamFacts& facts) noexcept {
  return facts.status.format ? facts.status.format->alpha_mode : AlphaMode::unspecified;
}

std::string describe_recording(const WindowRecording& recording) {
  const ViewerCounts counts = recording.counts.counts();
  return std::to_string(counts.frames_recorded + counts.frames_repeated) + "   dropped " +
         std::to_string(counts.frames_unrecorded);
}

/// Of Layout::depth: all streams have one size, and no keys of theirs count.
PicturePlace place_merged(Size frame, const PictureRectangle& box) noexcept {
  return place({}, Layout::depth, frame, {1, 1}, box);
}

Rational sample_aspect_ratio(const StreamFacts& facts) noexcept {
  return facts.status.format ? facts.status.format->sample_aspect_ratio : Rational{1, 1};
}

}  // namespace

void Composition::show(Scene scene, Selection selection) {
  const auto selected_source = [this] {
    return selection_.layer < scene_.layers.size() ? scene_.layers[selection_.layer].source : std::string();
  };
  const std::string source_before = selected_source();
  scene_ = std::move(scene);
  is_direct_ = is_one_picture(scene_);
  laid_out_ = {};
  selection_ = selection.layer < scene_.layers.size() ? selection : Selection{};
  if (selected_source() != source_before) {
    panel_.begin_again();
  }
  if (is_direct_) {
    compositor_.reset();
  }
}

void Composition::show_note(std::size_t layer, std::string text) {
  noted_layer_ = layer;
  note_ = layer < scene_.layers.size() ? std::move(text) : std::string();
}

void Composition::lay_out_for(Size surface) {
  if (laid_out_ != surface || boxes_.size() != scene_.layers.size()) {
    boxes_ = lay_out(scene_, surface);
    laid_out_ = surface;
  }
}

PlacedLayer Composition::placed(const ComposedStream& stream, std::size_t index, Size frame) const noexcept {
  const SceneLayer& how = scene_.layers[index];
  return {.layer = stream.layer,
          .how = {.blend = how.blend, .alpha = alpha_of(how, alpha_mode(*stream.facts)), .opacity = how.opacity},
          .at = scene_.layout == Layout::depth
                    ? place_merged(frame, boxes_[index])
                    : place(how, scene_.layout, frame, sample_aspect_ratio(*stream.facts), boxes_[index])};
}

/// A layer that is merged by depth has no keys of its own, and cannot be hidden.
bool Composition::shows(std::size_t index) const noexcept {
  if (index >= boxes_.size() || index >= scene_.layers.size() || is_empty(boxes_[index])) {
    return false;
  }
  return scene_.layout == Layout::depth || (!scene_.layers[index].is_hidden && scene_.layers[index].opacity > 0);
}

bool Composition::will_show(std::size_t index, Size surface) {
  lay_out_for(surface);
  return shows(index);
}

/// What does not fit is not in a picture that is merged by depth.
PicturePlace Composition::place_of(const ComposedStream& stream, std::size_t index) const noexcept {
  const bool is_seen =
      shows(index) && stream.layer->has_picture() && (scene_.layout != Layout::depth || stream.defect.empty());
  return is_seen ? placed(stream, index, stream.layer->frame_size()).at : PicturePlace{};
}

void Composition::prepare(Size surface, Streams streams, std::size_t index) {
  Layer& layer = *streams[index].layer;
  if (layer.has_picture()) {
    return;
  }
  const StreamFormat& format = *streams[index].facts->status.format;
  lay_out_for(surface);
  const PictureRectangle picture =
      placed(streams[index], index, {format.layout.width, format.layout.height}).at.picture;
  if (is_direct_) {
    layer.prepare(format, gl_rectangle(picture, surface), surface);
    return;
  }
  const GLuint bound = bound_for_drawing();
  const OffscreenTarget scratch(surface);
  scratch.bind();
  layer.prepare(format, gl_rectangle(picture, surface), surface);
  glBindFramebuffer(GL_FRAMEBUFFER, bound);
}

// ---- Drawing ----

void Composition::draw(const Target& target, Streams streams, std::int64_t now_ns) {
  glDisable(GL_BLEND);
  if (streams.size() != scene_.layers.size()) {
    return;
  }
  lay_out_for(target.size);
  has_silence_ = false;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    has_silence_ |= !silence_of(streams[i], i, now_ns).empty();
  }
  const bool has_overlay = has_silence_ || panel_.is_shown() || selection_.is_outlined || !note_.empty() ||
                           recording_ != nullptr || has_status(streams);
  if (is_direct_ || scene_.layout == Layout::depth) {
    draw_one(target, streams, now_ns);
  } else {
    compose(target, streams, has_overlay, now_ns);
  }
  if (has_overlay && overlay_.begin(target.size)) {
    draw_overlay(target.size, streams, now_ns);
    overlay_.finish();
  }
  has_overlay_ = has_overlay;
}

/// On the surface, or on a canvas from which the surface gets it: a window's own framebuffer cannot be read back, for
/// what other windows hide of it is undefined.
void Composition::draw_one(const Target& target, Streams streams, std::int64_t now_ns) {
  const auto draw = [&] {
    if (scene_.layout == Layout::depth) {
      draw_merged(target);
    } else {
      draw_directly(target, streams[0], now_ns);
    }
  };
  if (!keeps_pictures_) {
    draw();
    return;
  }
  if (!kept_ || kept_->size() != target.size) {
    kept_.reset();
    kept_.emplace(target.size);
  }
  {
    const Canvas::Drawing drawing = kept_->draw(BlendValues::coded);
    draw();
  }
  kept_->show(gl_rectangle(whole_of(target.size), target.size));
  ++pictures_version_;
}

void Composition::keep_pictures(bool keeps) noexcept {
  keeps_pictures_ = keeps;
  if (!keeps) {
    kept_.reset();
  }
}

const Canvas* Composition::pictures() const noexcept {
  if (is_direct_ || scene_.layout == Layout::depth) {
    return kept_ ? &*kept_ : nullptr;
  }
  return compositor_ ? compositor_->canvas() : nullptr;
}

void Composition::draw_directly(const Target& target, const ComposedStream& stream, std::int64_t now_ns) {
  if (!stream.layer->has_picture()) {
    clear_for_waiting_picture(target.size);
    return;
  }
  glClearColor(0, 0, 0, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  const PicturePlace at = placed(stream, 0, stream.layer->frame_size()).at;
  stream.layer->draw(gl_rectangle(at.picture, target.size), target.size, now_ns);
  glViewport(0, 0, static_cast<GLsizei>(target.size.width), static_cast<GLsizei>(target.size.height));
}

/// In fast quality: its size is that of the frames, and its colours are those of a screen.
void Composition::draw_merged(const Target& target) const {
  glClearColor(0, 0, 0, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  if (target.merged == nullptr || boxes_.empty()) {
    return;
  }
  const PicturePlace at = place_merged(target.merged->size, boxes_[0]);
  target.painters->draw_fast({.frame = *target.merged, .format = PixelFormat::rgba, .colour = {}},
                             gl_rectangle(at.picture, target.size));
  glViewport(0, 0, static_cast<GLsizei>(target.size.width), static_cast<GLsizei>(target.size.height));
}

void Composition::compose(const Target& target, Streams streams, bool has_overlay, std::int64_t now_ns) {
  placed_.clear();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    placed_.push_back(placed(streams[i], i, streams[i].layer->frame_size()));
  }
  if (!compositor_) {
    compositor_ = std::make_unique<Compositor>();
  }
  const GLuint bound = bound_for_drawing();
  if (compositor_->compose(target.size, placed_, scene_.blends_linear_light, now_ns)) {
    ++pictures_version_;
  }
  compositor_->show(bound, !target.keeps_content || has_overlay || has_overlay_);
}

// ---- What is over the pictures ----

/// Whether a stream's status is to be seen.
bool Composition::has_status(Streams streams) const noexcept {
  for (std::size_t i = 0; i < streams.size() && i < boxes_.size(); ++i) {
    if (needs_status(streams[i]) && !is_empty(boxes_[i])) {
      return true;
    }
  }
  return false;
}

/// What is to be said about frames that stay away; empty: nothing. A picture that is merged by depth leaves such a
/// stream out, and says so.
std::string Composition::silence_of(const ComposedStream& stream, std::size_t index, std::int64_t now_ns) const {
  const bool is_needed = stream.silence && scene_.layout != Layout::depth && shows(index) && !needs_status(stream);
  const std::string text = is_needed ? describe(*stream.silence, now_ns) : "";
  return text.empty() || scene_.layers.size() == 1 ? text : name_of(stream) + ": " + text;
}

/// A line at the edge, for the picture may be as it should: `notes` are in the same boxes.
void Composition::draw_silences(Streams streams, std::int64_t now_ns, std::vector<PictureRectangle>& notes) const {
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (const std::string text = silence_of(streams[i], i, now_ns); !text.empty()) {
      draw_note(overlay_, {.box = boxes_[i], .notes_below = notes_in(notes, boxes_[i])}, {text, ""});
      notes.push_back(boxes_[i]);
    }
  }
}

void Composition::draw_overlay(Size surface, Streams streams, std::int64_t now_ns) {
  std::vector<PictureRectangle> notes;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (!needs_status(streams[i]) || is_empty(boxes_[i])) {
      continue;
    }
    if (hides_others(streams, i)) {
      draw_note(overlay_, {.box = boxes_[i], .notes_below = notes_in(notes, boxes_[i])},
                status_of(streams[i], name_of(streams[i])));
      notes.push_back(boxes_[i]);
    } else {
      draw_status(surface, streams[i], boxes_[i], now_ns);
    }
  }
  draw_silences(streams, now_ns, notes);
  if (selection_.is_outlined) {
    draw_selection(surface, streams[selection_.layer]);
  }
  if (!note_.empty()) {
    draw_layer_note(surface, streams[noted_layer_]);
  }
  if (recording_ != nullptr) {
    draw_recording_mark(overlay_, surface, "REC " + format_minutes(now_ns - recording_->begun_ns));
  }
  if (panel_.is_shown()) {
    draw_panel(surface, streams[selection_.layer], now_ns);
  }
}

/// Whether a layer's status would hide what another layer shows.
bool Composition::hides_others(Streams streams, std::size_t index) const noexcept {
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (i != index && streams[i].layer->has_picture() && overlaps_most_of(boxes_[i], boxes_[index])) {
      return true;
    }
  }
  return false;
}

std::string Composition::name_of(const ComposedStream& stream) const {
  return scene_.layers.size() > 1 ? stream.facts->name_among_others() : stream.facts->peer_text;
}

void Composition::draw_selection(Size surface, const ComposedStream& stream) const {
  const SceneLayer& layer = scene_.layers[selection_.layer];
  const std::optional<StreamFormat>& format = stream.facts->status.format;
  const bool has_picture = stream.layer->has_picture() || !format;
  const PictureShape shape{
      .size = has_picture ? stream.layer->frame_size() : Size{format->layout.width, format->layout.height},
      .sample_aspect_ratio = sample_aspect_ratio(*stream.facts)};
  draw_selection_frame(overlay_, outline_of(scene_, selection_.layer, shape, surface),
                       {.is_hidden = layer.is_hidden, .text = layer.is_hidden ? name_of(stream) : ""});
}

void Composition::draw_layer_note(Size surface, const ComposedStream& stream) const {
  const PictureRectangle picture = place_of(stream, noted_layer_).visible;
  draw_selection_frame(overlay_, picture, {});
  draw_note(overlay_, {.box = whole_of(surface)}, {note_, ""});
}

void Composition::draw_status(Size surface, const ComposedStream& stream, const PictureRectangle& box,
                              std::int64_t now_ns) const {
  const StatusPlace place{.box = is_direct_ ? whole_of(surface) : box, .has_background = is_direct_};
  (is_waiting(stream) ? draw_waiting_picture : draw_lost_banner)(overlay_, place, status_of(stream, name_of(stream)),
                                                                 now_ns);
}

void Composition::draw_panel(Size surface, const ComposedStream& stream, std::int64_t now_ns) {
  const std::optional<StreamFormat>& format = stream.facts->status.format;
  const PanelFacts facts{
      .stream = scene_.layers.size() > 1 ? name_of(stream) : "",
      .recording = recording_ != nullptr ? describe_recording(*recording_) : "",
      .format = format ? describe(*format) : "",
      .colour = format ? describe_colour(*format) : "",
      .pacing = stream.pacing ? describe(*stream.pacing) : "",
      .clocks = stream.clock_uncertainty_ns > 0
                    ? "the clocks agree within " + format_ms(stream.clock_uncertainty_ns) + " ms"
                    : "",
      .start_line = stream.facts->status.start_line,
      .upload_path = std::string(stream.layer->is_drawn_here() ? "no upload" : name(stream.layer->method())) + ", " +
                     short_renderer()};
  panel_.draw(overlay_, surface, *stream.statistics, stream.counts, facts, now_ns);
}

std::int64_t Composition::step_ns(Streams streams) const noexcept {
  if (has_status(streams)) {
    return status_step_ns;
  }
  return panel_.is_shown() || recording_ != nullptr || has_silence_ ? panel_step_ns : RedrawSchedule::never_ns;
}

void Composition::frame_shown(std::size_t index, const StageTimes& stages) noexcept {
  if (index == selection_.layer) {
    panel_.frame_shown(stages);
  }
}

std::string short_renderer() {
  const std::string renderer = gl_renderer();
  return renderer.substr(0, renderer.find(" ("));
}

}  // namespace framewire
