// Sends what the user does to the streams.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "viewer/input_capture.hpp"
#include "viewer/input_options.hpp"
#include "viewer/renderer.hpp"
#include "viewer/surface.hpp"
#include "viewer/viewed_stream.hpp"

namespace framewire {

/// Feeds an InputCapture with the surface's events and with what fw-render draws, gives the streams what it makes of
/// them, and tells the user who has the input: in the window's title, and for a moment in the picture. Main thread.
class InputForwarder {
 public:
  using Streams = std::vector<std::shared_ptr<ViewedStream>>;

  /// The references outlive it. `streams` are those that are shown.
  InputForwarder(const InputOptions& options, Surface& surface, Renderer& renderer, const Streams& streams,
                 const Clock& clock, Log& log);
  InputForwarder(const InputForwarder&) = delete;
  InputForwarder& operator=(const InputForwarder&) = delete;
  ~InputForwarder();

  /// Sends what has come, and follows the streams. Returns whether note() has changed.
  bool follow();
  /// Other streams are shown, or will be.
  void invalidate() noexcept { is_valid_ = false; }
  /// Ends the focus of a stream that will be closed, and tells its sender. It may not be shown any more.
  void leave(ViewedStream& stream);
  /// The same for all.
  void leave();

  /// For the picture: about which stream, and what. Nothing if there is nothing to say.
  struct Note {
    const ViewedStream* stream = nullptr;
    std::string text;
    bool is_refusal = false;  // of the stream's sender
    bool operator==(const Note&) const = default;
  };
  [[nodiscard]] const std::optional<Note>& note() const noexcept { return note_; }
  /// When follow() takes the note away; INT64_MAX: never.
  [[nodiscard]] std::int64_t deadline_ns() const noexcept { return note_ ? note_until_ns_ : INT64_MAX; }
  [[nodiscard]] bool is_capturing() const noexcept { return capture_.focused() != nullptr; }

  /// How long a note stays.
  static constexpr std::int64_t note_ns = 5 * ns_per_s;

 private:
  void follow_pictures();
  bool follow_stream(SeenPicture& picture);
  void say_refusal(const ViewedStream& stream, const SubscriberStatus& status);
  void answer_click(const InputEvent& event);
  void repeat_refusal(const void* of);
  void follow_focus();
  void send(ViewedStream* leaving = nullptr);
  void say(Note note);
  [[nodiscard]] ViewedStream* find(const void* stream) const noexcept;

  const InputOptions options_;
  Surface& surface_;
  Renderer& renderer_;
  const Streams& streams_;
  const Clock& clock_;
  Log& log_;
  InputCapture capture_;
  SeenPictures pictures_;
  std::uint64_t pictures_version_ = 0;
  std::uint64_t facts_versions_ = 0;  // of all streams
  bool is_valid_ = false;             // what follow_pictures() has found
  CaptureMode mode_{};
  const void* focused_ = nullptr;  // what the user was told
  struct Refusal {
    const ViewedStream* stream;
    std::uint64_t session;
    std::string text;
    bool operator==(const Refusal&) const = default;
  };
  std::vector<Refusal> refusals_;  // that the log has; one for a stream
  std::optional<Note> note_;
  bool has_new_note_ = false;
  std::int64_t note_until_ns_ = 0;
};

}  // namespace framewire
