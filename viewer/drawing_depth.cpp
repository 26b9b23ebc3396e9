// The part of Drawing that merges streams by depth (Layout::depth).
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "gl/gl.hpp"
#include "viewer/drawing.hpp"

namespace framewire {

void Drawing::follow_depth(const Scene& scene, bool is_first) {
  const bool is_merged = scene.layout == Layout::depth;
  if (!is_merged && depth_) {
    depth_->release_cameras(streams_);
    keep_set_counts();
    depth_.reset();
  }
  if (is_merged && (!depth_ || depth_scenes_ != scene.gl_scenes)) {
    replace_depth(scene.gl_scenes, is_first);
  }
  for (const auto& stream : streams_) {
    stream->stream()->queue().show_by_tag(is_merged);
    if (!is_merged) {
      stream->set_misfit("");
    }
  }
}

/// What cannot be drawn here ends a viewer that begins. One whose scene file is edited goes on with what it has.
void Drawing::replace_depth(const std::vector<std::string>& scenes, bool is_first) {
  try {
    auto replacement = std::make_unique<DepthView>(scenes, started_ns_);
    if (depth_) {
      depth_->release_cameras(streams_);
      keep_set_counts();
    }
    depth_ = std::move(replacement);
  } catch (const Error& error) {
    if (is_first || find_gl_loss()) {
      throw;
    }
    warnings_.emplace_back(error.what());
    if (!depth_) {
      depth_ = std::make_unique<DepthView>(std::vector<std::string>(), started_ns_);
    }
  }
  depth_->set_camera(camera_);
  depth_scenes_ = scenes;
}

void Drawing::set_camera(const Camera& camera) noexcept {
  camera_ = camera;
  if (depth_) {
    depth_->set_camera(camera);
  }
}

std::optional<SetCounts> Drawing::set_counts() const noexcept {
  if (!depth_) {
    return past_sets_;
  }
  const SetCounts past = past_sets_.value_or(SetCounts{});
  return SetCounts{.shown = past.shown + depth_->sets_shown(), .missed = past.missed + depth_->sets_missed()};
}

void Drawing::keep_set_counts() noexcept {
  past_sets_ = set_counts();
}

}  // namespace framewire
