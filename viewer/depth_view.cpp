#include "viewer/depth_view.hpp"

#include <algorithm>
#include <array>
#include <random>

#include "base/error.hpp"
#include "gl/colour_conversion.hpp"
#include "gl/shader_scene.hpp"

namespace framewire {

namespace {

/// A set may be complete before the message that says from where it is rendered.
constexpr std::int64_t camera_poll_ns = 2 * ns_per_ms;

std::uint64_t random_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32U | device();
}

std::string size_text(const FrameLayout& layout) {
  return std::to_string(layout.width) + "x" + std::to_string(layout.height);
}

}  // namespace

DepthView::DepthView(const std::vector<std::string>& scenes, std::int64_t started_ns)
    : started_ns_(started_ns), sets_(random_seed()) {
  for (const std::string& name : scenes) {
    const ShaderScene scene = load_scene(name);
    if (!scene.has_depth()) {
      throw Error::usage("the scene " + quote(name) + " has no depth, which --layout depth needs; gl:helix has it");
    }
    scenes_.push_back({.program = SceneProgram(scene, ComponentOrder::rgba), .target = {}});
  }
}

void DepthView::forget(const ShownStream& stream) noexcept {
  std::erase_if(members_, [&](const Member& member) { return member.stream == &stream; });
}

void DepthView::release_cameras(Streams streams) noexcept {
  has_asked_ = false;
  for (const auto& stream : streams) {
    stream->stream()->release_camera();
  }
}

void DepthView::follow(Streams streams, bool asks, std::int64_t period_ns, std::int64_t now_ns) {
  follow_members(streams, now_ns);
  follow_refusals(now_ns);
  asks_ = asks;
  camera_due_ns_ = INT64_MAX;
  choose(now_ns);
  while (const auto id = sets_.give_up(now_ns)) {
    revoke(*id);
  }
  if (asks && !members_.empty()) {
    ask(period_ns, now_ns);
  } else if (!asks && has_asked_) {
    release_cameras(streams);
    sets_.begin_again(now_ns);
  }
}

/// Follows what happened since follow(): a set that was shown makes room for the next request.
std::int64_t DepthView::due_ns() const noexcept {
  const std::int64_t ask_ns = asks_ && !members_.empty() ? sets_.due_ns() : INT64_MAX;
  return std::min({camera_due_ns_, ask_ns, sets_.give_up_ns()});
}

/// Frames that were asked of other members never become complete. The senders need not render them any more.
void DepthView::follow_members(Streams streams, std::int64_t now_ns) {
  std::vector<Member> now;
  for (const auto& stream : streams) {
    const ShownStream* const first = now.empty() ? nullptr : now.front().stream;
    const SubscriberStatus& status = stream->facts().status;
    // Before the format of this session came, the source may not have begun: it would refuse to render on request.
    const bool sends =
        status.state == SubscriberState::connected && status.format_session == status.session_number && status.format;
    const std::string fault = sends ? misfit(*stream, first, now.size()) : "";
    stream->set_misfit(fault);
    if (sends && fault.empty()) {
      const auto before = std::ranges::find(members_, stream.get(), &Member::stream);
      const bool is_same = before != members_.end() && before->session == status.session_number;
      now.push_back(
          is_same
              ? *before
              : Member{.stream = stream.get(), .session = status.session_number, .refusals = status.render_refusals});
    } else if (std::ranges::find(members_, stream.get(), &Member::stream) != members_.end()) {
      stream->stream()->release_camera();
    }
  }
  if (now != members_) {
    members_ = std::move(now);
    while (const auto id = sets_.withdraw()) {
      revoke(*id);
    }
    sets_.begin_again(now_ns);
  }
}

/// Why the frames of a stream cannot be merged with those of the first one; empty: they can.
std::string DepthView::misfit(const ShownStream& stream, const ShownStream* first, std::size_t members) const {
  const FrameLayout& layout = stream.facts().status.format->layout;
  if (!has_depth(layout.format)) {
    return "its frames of " + std::string(info(layout.format).name) +
           " have no depth; start its sender with --pix-fmt rgba+grayf32le";
  }
  if (first != nullptr) {
    const FrameLayout& wanted = first->facts().status.format->layout;
    if (layout.width != wanted.width || layout.height != wanted.height) {
      return "its frames are " + size_text(layout) + ", and those of " + first->facts().peer_text + " are " +
             size_text(wanted) + "; take one --size for all senders";
    }
  }
  if (members + scenes_.size() >= DepthMerger::most_pictures) {
    return "at most " + std::to_string(DepthMerger::most_pictures) + " pictures are merged by depth; leave some out";
  }
  return {};
}

void DepthView::follow_refusals(std::int64_t now_ns) {
  bool is_refused = false;
  for (Member& member : members_) {
    const SubscriberStatus& status = member.stream->facts().status;
    if (status.render_refusals != member.refusals) {
      member.refusals = status.render_refusals;
      is_refused = true;
      if (!std::exchange(has_said_refusal_, true)) {
        warning_ = member.stream->facts().peer_text +
                   " does not take this viewer's camera: " + printable(status.render_refusal);
      }
    }
  }
  if (is_refused) {
    sets_.refused(now_ns);
    for (const Member& member : members_) {
      member.stream->stream()->release_camera();
    }
  }
}

void DepthView::choose(std::int64_t now_ns) {
  std::array<FrameQueue::Tags, DepthMerger::most_pictures> tags;
  std::array<std::span<const std::uint64_t>, DepthMerger::most_pictures> lists;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    tags.at(i) = members_[i].stream->stream()->queue().tags();
    lists.at(i) = tags.at(i).all();
  }
  const auto id = newest_common_tag(std::span(lists).first(members_.size()));
  if (!id || (chosen_ && chosen_->id == *id)) {
    return;
  }
  const std::optional<RenderRequest> request = find_request(*id);
  if (!request && !scenes_.empty()) {
    camera_due_ns_ = now_ns + camera_poll_ns;
    return;
  }
  chosen_ = request.value_or(RenderRequest{.id = *id});
  for (const Member& member : members_) {
    member.stream->stream()->queue().choose(*id);
  }
}

std::optional<RenderRequest> DepthView::find_request(std::uint64_t id) const noexcept {
  if (const auto own = sets_.find(id)) {
    return own;
  }
  for (const Member& member : members_) {
    if (const auto named = member.stream->stream()->find_render(id)) {
      return named;
    }
  }
  return std::nullopt;
}

void DepthView::revoke(std::uint64_t id) noexcept {
  for (const Member& member : members_) {
    member.stream->stream()->revoke_render(id);
  }
}

void DepthView::ask(std::int64_t period_ns, std::int64_t now_ns) {
  if (const auto request = sets_.next(camera_, now_ns - started_ns_, period_ns, now_ns)) {
    has_asked_ = true;
    for (const Member& member : members_) {
      member.stream->stream()->ask_render(*request);
    }
  }
}

void DepthView::merge(Streams streams) {
  if (!chosen_ || members_.empty()) {
    return;
  }
  std::array<DepthPicture, DepthMerger::most_pictures> pictures{};
  std::size_t count = 0;
  for (const auto& stream : streams) {
    if (std::ranges::find(members_, stream.get(), &Member::stream) == members_.end()) {
      continue;
    }
    const Layer& layer = stream->layer();
    if (!layer.has_picture() || layer.user_tag() != chosen_->id) {
      return;
    }
    pictures.at(count++) = layer.depth_picture();
  }
  const Size size = members_.front().stream->layer().frame_size();
  draw_scenes(size);
  for (const LocalScene& scene : scenes_) {
    pictures.at(count++) = {.colour = scene.target->texture(), .depth = scene.target->depth_texture()};
  }
  merger_.merge(size, std::span(pictures).first(count));
  picture_ = PaintedFrame{.textures = {merger_.texture()},
                          .texture_count = 1,
                          .size = size,
                          .conversion = colour_conversion(PixelFormat::rgba, {}, size.height)};
  sets_.shown(chosen_->id);
}

void DepthView::draw_scenes(Size size) {
  for (LocalScene& scene : scenes_) {
    if (!scene.target || scene.target->size() != size) {
      scene.target.reset();
      scene.target.emplace(size, true);
    }
    scene.target->bind();
    scene.program.draw(size, {.time_s = static_cast<double>(chosen_->time_ns) / 1e9, .camera = chosen_->camera});
  }
}

}  // namespace framewire
