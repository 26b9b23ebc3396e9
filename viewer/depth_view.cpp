#include "viewer/depth_view.hpp"

#include <algorithm>
#include <array>
#include <random>

#include "base/error.hpp"
#include "gl/colour_conversion.hpp"
#include "gl/gl.hpp"
#include "gl/shader_scene.hpp"

namespace framewire {

namespace {

/// A set may be complete before the message that says from where it is rendered.
constexpr std::int64_t camera_poll_ns = 4 * ns_per_ms;
constexpr std::int64_t longest_camera_wait_ns = ns_per_s;

constexpr std::int64_t pause_between_attempts_ns = ns_per_s;
/// The others are ahead of a stream that has just come: that is no fault.
constexpr std::int64_t time_to_begin_ns = 5 * ns_per_s;

std::uint64_t random_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32U | device();
}

std::string size_text(Size size) {
  return std::to_string(size.width) + "x" + std::to_string(size.height);
}

/// Before the format of this session came, the source may not have begun: it would refuse to render on request.
bool sends(const ShownStream& stream) {
  const SubscriberStatus& status = stream.facts().status;
  return status.state == SubscriberState::connected && status.format_session == status.session_number && status.format;
}

/// Of the stream's format; sends().
Size frame_size(const ShownStream& stream) {
  const FrameLayout& layout = stream.facts().status.format->layout;
  return {layout.width, layout.height};
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
  awaited_.remove(&stream);
  std::erase_if(members_, [&](const Member& member) { return member.stream == &stream; });
}

void DepthView::release_cameras(Streams streams) noexcept {
  has_asked_ = false;
  for (const auto& stream : streams) {
    stream->stream()->release_camera();
  }
}

void DepthView::follow(Streams streams, const Following& what, std::int64_t period_ns, std::int64_t now_ns) {
  follow_members(streams, now_ns);
  follow_deliveries(now_ns);
  follow_refusals(now_ns);
  asks_ = what.asks;
  camera_due_ns_ = INT64_MAX;
  told_due_ns_ = INT64_MAX;
  if (what.chooses) {
    choose(now_ns);
  }
  drop_hopeless();
  give_up(now_ns);
  if (what.asks && !members_.empty()) {
    ask(period_ns, now_ns);
  } else if (has_asked_) {
    release_cameras(streams);
    sets_.begin_again(now_ns);
  }
}

/// Follows what happened since follow(): a set that was shown makes room for the next request.
std::int64_t DepthView::due_ns() const noexcept {
  const std::int64_t ask_ns = asks_ && !members_.empty() ? sets_.due_ns() : INT64_MAX;
  return std::min({camera_due_ns_, ask_ns, sets_.give_up_ns(), told_due_ns_});
}

// ---- Which streams belong to it ----

/// A stream that comes is asked for the next frame, and awaited when it has delivered one: what is on its way becomes
/// complete without it. One that goes is not waited for any more.
void DepthView::follow_members(Streams streams, std::int64_t now_ns) {
  choose_size(streams);
  std::vector<Member> now;
  for (const auto& stream : streams) {
    const auto before = std::ranges::find(members_, stream.get(), &Member::stream);
    const SubscriberStatus& status = stream->facts().status;
    const bool is_sending = sends(*stream);
    if (before != members_.end() && (!is_sending || before->session != status.session_number)) {
      leave(*before);
    }
    std::string fault = is_sending ? misfit(*stream, now.size()) : "";
    if (is_sending && fault.empty() && stream->defect().empty()) {
      if (before != members_.end() && before->stream != nullptr) {
        now.push_back(std::move(*before));
        fault = now.back().defect;
        if (fault.empty() && awaited_.is_behind(stream.get()) && now_ns - now.back().joined_ns >= time_to_begin_ns) {
          fault = "it does not deliver what the others do; is its sender stopped, or slow?";
        }
      } else {
        awaited_.add(stream.get());
        now.push_back({.stream = stream.get(),
                       .session = status.session_number,
                       .joined_ns = now_ns,
                       .refusals = status.render_refusals});
      }
    } else if (before != members_.end() && before->stream != nullptr) {
      leave(*before);
    }
    stream->set_misfit(fault);
  }
  members_ = std::move(now);
}

void DepthView::leave(Member& member) {
  awaited_.remove(member.stream);
  member.stream->stream()->release_camera();
  member.stream = nullptr;
}

/// The size stays as long as a stream has it: one that comes later does not change the picture.
void DepthView::choose_size(Streams streams) {
  const ShownStream* first = nullptr;
  for (const auto& stream : streams) {
    if (sends(*stream) && has_depth(stream->facts().status.format->layout.format)) {
      const Size size = frame_size(*stream);
      if (size == size_ && std::ranges::find(members_, stream.get(), &Member::stream) != members_.end()) {
        return;
      }
      first = first == nullptr ? stream.get() : first;
    }
  }
  size_ = first == nullptr ? Size{} : frame_size(*first);
}

/// Why the frames of a stream cannot be merged with the others; empty: they can.
std::string DepthView::misfit(const ShownStream& stream, std::size_t members) const {
  const FrameLayout& layout = stream.facts().status.format->layout;
  if (!has_depth(layout.format)) {
    return "its frames of " + std::string(info(layout.format).name) +
           " have no depth; a sender of gl: gives it with --pix-fmt rgba+grayf32le, films have none";
  }
  if (frame_size(stream) != size_) {
    return "its frames are " + size_text(frame_size(stream)) + ", and those of the others are " + size_text(size_) +
           "; take one --size for all senders";
  }
  if (members + scenes_.size() >= DepthMerger::most_pictures) {
    return "at most " + std::to_string(DepthMerger::most_pictures) + " pictures are merged by depth; leave some out";
  }
  return {};
}

/// A sender that is slow delivers what it was asked for when the others are far ahead: sets wait longer from then on.
void DepthView::follow_deliveries(std::int64_t now_ns) {
  for (Member& member : members_) {
    member.tags = member.stream->stream()->queue().tags();
    for (const std::uint64_t tag : member.tags.all()) {
      awaited_.delivered(member.stream, tag);
      if (tag == member.asked && !awaited_.is_awaited(member.stream)) {
        awaited_.join(member.stream);
        sets_.expect(now_ns - member.asked_ns);
      }
    }
  }
}

/// If one sender belongs to another viewer, this viewer releases all: of two viewers that have one sender each, none
/// would ever see a set.
void DepthView::follow_refusals(std::int64_t now_ns) {
  bool is_owned = false;
  for (Member& member : members_) {
    const SubscriberStatus& status = member.stream->facts().status;
    if (std::exchange(member.refusals, status.render_refusals) == status.render_refusals) {
      continue;
    }
    const RenderRefusal& refusal = status.render_refusal;
    if (refusal.reason == RenderRefusal::Reason::unsupported) {
      member.defect = printable(refusal.text);
      awaited_.remove(member.stream);
    } else if (refusal.reason == RenderRefusal::Reason::owned && sets_.refused(refusal.id, now_ns)) {
      is_owned = true;
      if (!std::exchange(has_said_refusal_, true)) {
        warning_ = member.stream->facts().peer_text + " does not take this viewer's camera: " + printable(refusal.text);
      }
    }
  }
  if (is_owned) {
    for (const Member& member : members_) {
      member.stream->stream()->release_camera();
    }
  }
}

// ---- Sets ----

void DepthView::choose(std::int64_t now_ns) {
  std::array<std::span<const std::uint64_t>, DepthMerger::most_pictures> lists;
  std::size_t count = 0;
  for (const Member& member : members_) {
    if (awaited_.is_awaited(member.stream)) {
      lists.at(count++) = member.tags.all();
    }
  }
  const auto id =
      newest_common_tag(std::span(lists).first(count), [&](std::uint64_t tag) { return has_camera(tag, now_ns); });
  if (!id) {
    return;
  }
  unknown_since_ns_ = 0;
  if (!chosen_ || chosen_->id != *id) {
    chosen_ = find_request(*id).value_or(RenderRequest{.id = *id});
  }
  for (const Member& member : members_) {  // one may have come to it since
    member.stream->stream()->queue().choose(*id);
  }
}

/// The frames of one sender come in the order of their ids, as one viewer gives them: what an awaited sender has passed
/// over never becomes complete, and may hold the only slot of a ring. The same goes for what is older than the picture.
void DepthView::drop_hopeless() noexcept {
  const auto is_older = [](std::uint64_t tag, std::uint64_t other) {
    return tag < other && tag >> 32U == other >> 32U;
  };
  for (const Member& member : members_) {
    for (const std::uint64_t tag : member.tags.all()) {
      const bool is_passed = std::ranges::any_of(members_, [&](const Member& other) {
        const auto tags = other.tags.all();
        return awaited_.is_awaited(other.stream) && std::ranges::find(tags, tag) == tags.end() &&
               std::ranges::any_of(tags, [&](std::uint64_t newer) { return is_older(tag, newer); });
      });
      if (chosen_ && chosen_->id == tag) {
        continue;
      }
      if (is_passed || (chosen_ && is_older(tag, chosen_->id))) {
        member.stream->stream()->queue().give_up(tag);
      }
    }
  }
}

/// Scenes of this viewer need it. The message that says it may come after the frames; of a sender that is slow to say
/// it, an older set is shown meanwhile.
bool DepthView::has_camera(std::uint64_t id, std::int64_t now_ns) noexcept {
  if (scenes_.empty() || find_request(id)) {
    return true;
  }
  if (unknown_since_ns_ == 0) {
    unknown_since_ns_ = now_ns;
  }
  if (now_ns - unknown_since_ns_ < longest_camera_wait_ns) {
    camera_due_ns_ = now_ns + camera_poll_ns;
  }
  return false;
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

void DepthView::give_up(std::int64_t now_ns) {
  while (const auto id = sets_.give_up(now_ns)) {
    for (const Member& member : members_) {
      member.stream->stream()->revoke_render(*id);
      member.stream->stream()->queue().give_up(*id);
    }
  }
}

/// A stream that is not awaited is asked now and then only: its sender may be stopped.
void DepthView::ask(std::int64_t period_ns, std::int64_t now_ns) {
  if (sets_.next(camera_, now_ns - started_ns_, period_ns, now_ns)) {
    has_asked_ = true;
  }
  const std::size_t outstanding = sets_.outstanding();
  for (Member& member : members_) {
    if (!member.defect.empty() || outstanding == 0) {
      continue;
    }
    if (awaited_.is_awaited(member.stream)) {
      for (std::size_t i = 0; i < outstanding; ++i) {
        ask_member(member, sets_.outstanding(i), now_ns);
      }
    } else if (member.asked_ns == 0 || now_ns - member.asked_ns >= pause_between_attempts_ns) {
      ask_member(member, sets_.outstanding(outstanding - 1), now_ns);
    }
    told_due_ns_ = std::min(told_due_ns_, member.told_ns + pause_between_attempts_ns);
  }
}

/// Not twice for the same; the ids of one viewer rise. But who waits for slow senders says to the others now and then
/// that it still needs the camera.
void DepthView::ask_member(Member& member, const RenderRequest& request, std::int64_t now_ns) noexcept {
  if (request.id > member.asked) {
    member.asked = request.id;
    member.asked_ns = now_ns;
  } else if (request.id < member.asked || now_ns - member.told_ns < pause_between_attempts_ns) {
    return;
  }
  member.told_ns = now_ns;
  member.stream->stream()->ask_render(request);
}

bool DepthView::merge(Streams streams, std::int64_t now_ns) {
  std::array<DepthPicture, DepthMerger::most_pictures> pictures{};
  const std::size_t count = chosen_ ? gather(streams, pictures) : 0;
  if (count == 0 || size_ == refused_size_) {
    return false;
  }
  try {
    draw_merged(pictures, count);
  } catch (const Error& error) {
    if (find_gl_loss()) {
      throw;
    }
    refused_size_ = size_;
    warning_ = error.what();
    return false;
  }
  if (std::exchange(shown_, chosen_->id) != chosen_->id) {  // else a stream has come to it that was not awaited
    sets_.shown(chosen_->id, now_ns);
  }
  return true;
}

/// The pictures of the chosen set in the order of their streams; none if one is missing.
std::size_t DepthView::gather(Streams streams, std::span<DepthPicture> pictures) {
  std::size_t count = 0;
  for (const auto& stream : streams) {
    if (std::ranges::find(members_, stream.get(), &Member::stream) == members_.end()) {
      continue;
    }
    const Layer& layer = stream->layer();
    if (!layer.has_picture() || layer.user_tag() != chosen_->id) {
      if (awaited_.is_awaited(stream.get())) {
        return 0;
      }
      continue;
    }
    const DepthPicture picture = layer.depth_picture();
    if (layer.frame_size() != size_ || picture.depth == 0) {
      contradiction_ = {.stream = stream.get(),
                        .text = "its frames are not as their format says: " + size_text(layer.frame_size()) +
                                " in place of " + size_text(size_) + ", or without depth"};
      return 0;
    }
    pictures[count++] = picture;
  }
  return count;
}

/// There is room for the scenes' pictures behind the first `count`: see misfit().
void DepthView::draw_merged(std::span<DepthPicture> pictures, std::size_t count) {
  draw_scenes(size_);
  for (const LocalScene& scene : scenes_) {
    pictures[count++] = {.colour = scene.target->texture(), .depth = scene.target->depth_texture()};
  }
  merger_.merge(size_, pictures.first(count));
  picture_ = PaintedFrame{.textures = {merger_.texture()},
                          .texture_count = 1,
                          .size = size_,
                          .conversion = colour_conversion(PixelFormat::rgba, {}, size_.height)};
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
