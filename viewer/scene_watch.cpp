#include "viewer/scene_watch.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "viewer/scene_file.hpp"

namespace framewire {

namespace {

constexpr int polls_of_broken_text = 2;
constexpr int polls_of_unreadable_file = 8;
/// A second write within one tick of the file system's clock leaves the stamp as it is. So the poll after a change
/// reads the file once more.
constexpr int polls_that_read = 2;

}  // namespace

SceneWatch::SceneWatch(std::string file, Scene shown) : file_(std::move(file)), shown_(std::move(shown)) {}

std::optional<SceneNews> SceneWatch::poll() {
  const auto stamp = stamp_of(file_);
  // A file that cannot be read is tried again each time: a change of its rights does not show in the stamp.
  const bool has_settled = stamp && stamp == stamp_ && polls_ >= polls_that_read && content_->is_text;
  const bool is_tried_again = is_refused_ && stamp != stamp_;
  stamp_ = stamp;
  std::optional<Content> read;
  if (!has_settled) {
    read = content_of(file_);
  }
  if (has_settled || (read == content_ && !is_tried_again)) {
    polls_ = std::min(polls_ + 1, polls_of_unreadable_file);
    return report_error();
  }
  is_refused_ = false;
  content_ = std::move(read);
  polls_ = 1;
  error_.clear();
  if (!content_->is_text) {
    error_ = content_->text;
    return std::nullopt;
  }
  try {
    return take(parse_scene(content_->text, file_));
  } catch (const Error& error) {
    error_ = error.what();
    return std::nullopt;
  }
}

std::optional<SceneNews> SceneWatch::take(const Scene& scene) {
  if (scene == shown_ && reported_.empty()) {
    return std::nullopt;
  }
  reported_.clear();
  shown_before_ = std::exchange(shown_, scene);
  return shown_;
}

void SceneWatch::refused() {
  shown_ = shown_before_;
  is_refused_ = true;
}

std::optional<SceneNews> SceneWatch::report_error() {
  const int needed = content_->is_text ? polls_of_broken_text : polls_of_unreadable_file;
  if (error_.empty() || polls_ < needed || error_ == reported_) {
    return std::nullopt;
  }
  reported_ = error_;
  return reported_;
}

std::optional<SceneWatch::Stamp> SceneWatch::stamp_of(const std::string& file) noexcept {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) {
    return std::nullopt;
  }
  return Stamp{.device = status.st_dev,
               .inode = status.st_ino,
               .bytes = status.st_size,
               .modified_ns = status.st_mtim.tv_sec * ns_per_s + status.st_mtim.tv_nsec};
}

SceneWatch::Content SceneWatch::content_of(const std::string& file) {
  try {
    return {.is_text = true, .text = read_scene_text(file)};
  } catch (const Error& error) {
    return {.is_text = false, .text = error.what()};
  }
}

}  // namespace framewire
