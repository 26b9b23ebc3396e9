// Notices that a scene's file has changed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "viewer/scene.hpp"

namespace framewire {

/// A new scene, or why the file has none: one sentence.
using SceneNews = std::variant<Scene, std::string>;

/// One thread, which polls about four times a second.
///   - A file that reads as a scene is news at once, if that scene is another one, or follows an error.
///   - An editor may write a file in steps: an error is news when two polls have seen the same text, and only once.
///   - An editor or a script may also remove the file before it writes it: that it cannot be read is news when eight
///     polls, so about two seconds, have found the same.
class SceneWatch {
 public:
  /// `shown`: what the file was when it was read before. The first poll finds what has changed since.
  SceneWatch(std::string file, Scene shown);

  /// Looks at the file, and reads it only if it has changed. Waits for nobody.
  std::optional<SceneNews> poll();
  /// The scene that poll() returned cannot be shown: the one before it stays. The file is news again once it is written
  /// again, also with the same text, and not if it comes back to what is shown.
  void refused();

 private:
  /// What changes when the file is written or replaced.
  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    off_t bytes = 0;
    std::int64_t modified_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  /// The text of the file, or why it cannot be read.
  struct Content {
    bool is_text = false;
    std::string text;
    bool operator==(const Content&) const = default;
  };

  static std::optional<Stamp> stamp_of(const std::string& file) noexcept;
  static Content content_of(const std::string& file);
  std::optional<SceneNews> take(const Scene& scene);
  std::optional<SceneNews> report_error();

  std::string file_;
  Scene shown_;
  Scene shown_before_;
  bool is_refused_ = false;
  std::optional<Stamp> stamp_;      // none: there is no file
  std::optional<Content> content_;  // none: never read
  int polls_ = 0;                   // that have seen this content, one after the other
  std::string error_;               // of this content, or empty
  std::string reported_;            // the last error that was news and is not mended yet, or empty
};

}  // namespace framewire
