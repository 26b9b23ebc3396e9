// Recordings that the user begins and ends by a key.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "command/interruption.hpp"
#include "viewer/recorder.hpp"
#include "viewer/statistics.hpp"

namespace framewire {

class Renderer;
class Surface;

/// A recording of what the window shows, in a file of its own. The drawing thread gives it pictures.
struct WindowRecording {
  /// The arguments outlive it. `name` is a file that claim_new_file() has made. Throws Error.
  WindowRecording(std::string name, const Clock& clock, Log& log, const Interruption& interruption,
                  const std::function<void()>& on_end)
      : file(std::move(name)),
        begun_ns(clock.now_ns()),
        recorder(file, clock, log, interruption, counts, on_end,
                 {.about = file, .tells_conversions = false, .is_of_pictures = true, .tells_missing = false}) {}

  const std::string file;
  const std::int64_t begun_ns;
  Statistics counts{};
  Recorder recorder;
};

/// Begins a recording at each second press of its key, and ends it at the others. Files are opened and closed on other
/// threads, because a disk may hang; presses that come meanwhile are answered then. Used on the main thread.
class WindowRecordings {
 public:
  /// The arguments outlive it.
  WindowRecordings(Renderer& renderer, Surface& surface, const Clock& clock, Log& log, const Interruption& interruption,
                   bool has_other_recording);
  WindowRecordings(const WindowRecordings&) = delete;
  WindowRecordings& operator=(const WindowRecordings&) = delete;
  /// Waits for the files.
  ~WindowRecordings();

  /// The key was pressed.
  void toggle();
  /// Does what is to be done now. Never waits.
  void follow();
  /// When follow() has something to do, if wake-ups do not say so before.
  [[nodiscard]] std::int64_t deadline_ns() const noexcept;
  /// Ends what is recorded. The drawing thread gives no more pictures, or is blocked. Waits for the files.
  void finish();

 private:
  /// What another thread leaves here when it is done.
  struct Opened {
    std::shared_ptr<WindowRecording> recording;
  };

  void open();
  void take_opened();
  void end();
  void close();

  Renderer& renderer_;
  Surface& surface_;
  const Clock& clock_;
  Log& log_;
  const Interruption& interruption_;
  const bool has_other_recording_;  // of --output
  bool is_wanted_ = false;
  bool is_ending_ = false;  // the drawing thread has been told
  std::shared_ptr<Opened> opened_;
  std::shared_ptr<WindowRecording> recording_;
  std::future<void> opening_;
  std::future<void> closing_;
};

}  // namespace framewire
