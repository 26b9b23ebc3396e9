// The streams of the program, and the scene that they are shown in.
#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.hpp"
#include "viewer/aside.hpp"
#include "viewer/offered_streams.hpp"
#include "viewer/program.hpp"
#include "viewer/received_stream.hpp"
#include "viewer/scene_checks.hpp"
#include "viewer/shader_stream.hpp"

namespace framewire {

namespace {

/// How often the scene's file is looked at.
constexpr std::int64_t scene_poll_ns = 250 * ns_per_ms;

}  // namespace

Scene Program::with_wall(Scene scene) const {
  if (options_.wall) {
    scene.wall = options_.wall;
  }
  return scene;
}

/// Of a stream.
ViewedStream::Listeners Program::listeners() {
  return {.on_news = [this] { renderer_->wake(); },
          .on_session =
              [this] {
                has_new_session_ = true;
                surface_->wake();
              },
          .on_end = [this] { surface_->wake(); }};
}

/// Starts connecting, or drawing.
std::shared_ptr<ViewedStream> Program::open(const ViewedSource& source, bool is_one_of_several) {
  std::shared_ptr<ViewedStream> stream =
      source.drawn
          ? std::make_shared<ShaderStream>(options_, source, drawn_size_, clock_, interruption_, log_, listeners())
          : receive(source, is_one_of_several);
  static_cast<void>(stream->statistics().take_line_rates(started_ns_));  // begins here
  return stream;
}

std::shared_ptr<ViewedStream> Program::receive(const ViewedSource& source, bool is_one_of_several) {
  auto made = std::make_unique<ReceivedStream>(
      options_, messages_ ? messages_->with_messages(source) : source, is_one_of_several || options_.scene_file,
      ReceivedStream::Drawer{.quality = quality_for(options_.quality, {}, renderer_->is_software()),
                             .reads_device_memory = !renderer_->why_copied()},
      clock_, interruption_, options_.is_synchronised ? &sync_ : nullptr, log_, listeners());
  std::shared_ptr<ViewedStream> stream;
  if (messages_) {
    stream = {made.release(), [messages = messages_.get()](ViewedStream* ended) {
                messages->remove(*ended);
                delete ended;
              }};
    messages_->add(*stream);
  } else {
    stream = std::move(made);
  }
  return stream;
}

void Program::follow_scene() {
  std::erase_if(retired_,
                [](const Retired& retired) { return retired.stream.use_count() == 1 && is_done(retired.closing); });
  if (options_.scene_file) {
    follow_scene_file();
  } else if (!options_.output.is_of_stream()) {  // that is of the first stream
    follow_offers();
  }
}

/// An error leaves everything as it is.
void Program::follow_scene_file() {
  if (clock_.now_ns() < next_scene_poll_ns_) {
    return;
  }
  next_scene_poll_ns_ = clock_.now_ns() + scene_poll_ns;
  if (!scene_watch_) {
    scene_watch_.emplace(*options_.scene_file, options_.scene);
  }
  const auto news = scene_watch_->poll();
  if (!news) {
    return;
  }
  if (const auto* error = std::get_if<std::string>(&*news)) {
    log_.warning(*error + "; the scene stays as it was");
    return;
  }
  try {
    const Scene& scene = std::get<Scene>(*news);
    const bool was_arranged = show({.scene = scene, .sources = sources_of(scene, options_.session)});
    log_.info("the scene in " + *options_.scene_file + " has changed" +
              (was_arranged ? ", and replaces what was arranged in the window" : ""));
  } catch (const std::exception& error) {
    scene_watch_->refused();
    log_.warning(std::string(error.what()) + "; the scene stays as it was");
  }
}

/// Who names a sender, but none of its streams, gets them all. The same offers are looked at once: what fails is not
/// tried again before they change.
void Program::follow_offers() {
  if (!has_new_session_.exchange(false)) {
    return;
  }
  std::vector<std::vector<std::string>> offers(streams_.size());
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (stands_for_all_streams(shown_.sources[i])) {
      offers[i] = streams_[i]->facts().status.stream_names;
    }
  }
  if (std::exchange(offers_, offers) == offers) {
    return;
  }
  try {
    const auto now = with_offered_streams(shown_, offers, options_.layers_over);
    if (now && show(*now)) {
      log_.info("the streams have changed, and with them what was arranged in the window");
    }
    warn_of_scene();
  } catch (const std::exception& error) {
    log_.warning("other streams of a sender cannot be shown: " + std::string(error.what()));
  }
}

/// Streams that were shown before go on without a break. Returns whether the user had arranged the scene before.
bool Program::show(const SceneOfSources& scene) {
  std::vector<std::shared_ptr<ViewedStream>> before = streams_;
  std::vector<std::shared_ptr<ViewedStream>> now;
  const bool are_several = scene.sources.size() > 1;
  for (const ViewedSource& source : scene.sources) {
    const auto known = std::ranges::find_if(
        before, [&](const auto& stream) { return stream && local_layers_.is_source_of(*stream, source); });
    now.push_back(known != before.end() ? std::exchange(*known, nullptr) : open(source, are_several));
  }
  streams_ = std::move(now);
  shown_ = scene;
  const bool was_arranged = editor_.replace(with_wall(scene.scene));
  show_arranged();
  for (const auto& stream : streams_) {
    stream->show_name_in_log(are_several || options_.scene_file);
  }
  for (auto& stream : before) {
    if (stream) {
      retire(std::move(stream), "is no longer part of the scene");
    }
  }
  local_layers_.show(streams_, shown_.sources);
  warn_of_scene();
  return was_arranged;
}

/// Each once. How many streams a sender stands for is known when it has answered.
void Program::warn_of_scene() {
  bool are_all_known = true;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    are_all_known &= options_.scene_file || !stands_for_all_streams(shown_.sources[i]) ||
                     !streams_[i]->facts().status.stream_names.empty();
  }
  for (const std::string& text :
       {useless_option(shown_.scene, options_), are_all_known ? stereo_mismatch(shown_.scene) : std::string()}) {
    if (!text.empty() && said_warnings_.insert(text).second) {
      log_.warning(text);
    }
  }
}

void Program::show_arranged() {
  ShownScene shown{.scene = editor_.scene(), .streams = {}, .selection = editor_.selection()};
  for (const std::size_t index : editor_.order()) {
    if (input_ && input_->note() && input_->note()->stream == streams_[index].get()) {
      shown.noted_layer = shown.streams.size();
      shown.note = input_->note()->text;
    }
    shown.streams.push_back(streams_[index]);
  }
  renderer_->show(std::move(shown));
}

/// In a picture that is merged by depth there is nothing to arrange.
void Program::move_camera(const SceneInputs& input) {
  bool has_moved = false;
  for (const SceneInput& event : input) {
    has_moved |= orbit_.take(event);
  }
  if (has_moved) {
    renderer_->set_camera(orbit_.camera());
  }
}

/// What was done since the last time makes one new scene.
void Program::arrange(const SceneInputs& input) {
  if (editor_.scene().layout == Layout::depth) {
    return move_camera(input);
  }
  bool has_changed = editor_.pass_time(clock_.now_ns());
  if (!input.empty()) {
    std::vector<PictureShape> pictures;
    for (const auto& stream : streams_) {
      const std::optional<StreamFormat> format = stream->facts().status.format;
      pictures.push_back(format
                             ? PictureShape{{format->layout.width, format->layout.height}, format->sample_aspect_ratio}
                             : PictureShape{});
    }
    for (const SceneInput& event : input) {
      has_changed |= editor_.take(event, {.surface = surface_->size(), .pictures = pictures}, clock_.now_ns());
    }
  }
  surface_->set_pointer(input_ && input_->is_capturing() ? PointerShape::arrow : editor_.pointer());
  if (has_changed) {
    show_arranged();
  }
}

/// Ends a stream that is no longer shown. Its sender may be stopped, and its goodbye take a second.
void Program::retire(std::shared_ptr<ViewedStream> stream, const std::string& why) {
  leave(*stream);
  stream->stop();
  stream->queue().abandon();
  const ViewerReport last = report({&stream, 1});
  log_.info(stream->peer_text() + " " + why + ": " + summary(last).front());
  has_shown_before_ |= stream->statistics().counts().frames_shown > 0;
  auto closing = close_aside(*stream, stats_json(last));
  retired_.push_back({.stream = std::move(stream), .closing = std::move(closing)});
}

/// Says bye on another thread. The stream outlives the result.
std::future<void> Program::close_aside(ViewedStream& stream, std::string statistics_json) {
  return run_aside("fw-goodbye", [this, &stream, statistics = std::move(statistics_json)] {
    try {
      stream.close(statistics);
    } catch (const Error& error) {
      log_.error(error.what());
    }
  });
}

// ---- Local layers ----

void Program::follow_local_layers() {
  if (interruption_.is_requested()) {
    return;  // Ctrl-C has reached ssh, too
  }
  local_layers_.follow({.is_ending = [this] { return interruption_.has_come(); },
                        .close = [this](ViewedStream& ended) { close(ended); },
                        .replace =
                            [this](const auto& ended, const LocalSource& source) {
                              ViewedSource next = source_of(source, options_.session);
                              next.drawn.reset();  // what a program has sent it sends on
                              return replace(ended, next);
                            }});
}

/// A stream that its sender has ended gets no more frames, so another one takes its place when that sender goes on. But
/// what is recorded ends with the stream.
std::shared_ptr<ViewedStream> Program::replace(const std::shared_ptr<ViewedStream>& ended, const ViewedSource& source) {
  if (options_.output.is_of_stream()) {
    log_.warning(ended->peer_text() + " has ended, and is not started again, because it is recorded");
    return nullptr;
  }
  auto stream = open(source, streams_.size() > 1);
  std::ranges::replace(streams_, ended, stream);
  show_arranged();
  retire(ended, "begins anew");
  return stream;
}

/// Its sender waits for that before it ends.
void Program::close(ViewedStream& stream) {
  const auto place = std::ranges::find(streams_, &stream, &std::shared_ptr<ViewedStream>::get);
  leave(stream);
  stream.stop();
  auto closing = close_aside(stream, stats_json(report({&*place, 1})));
  retired_.push_back({.stream = *place, .closing = std::move(closing)});
}

}  // namespace framewire
