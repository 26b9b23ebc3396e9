// Draws the viewer's picture.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "viewer/drawing.hpp"
#include "viewer/surface.hpp"
#include "viewer/wake_event.hpp"

namespace framewire {

/// Owns the thread "fw-render", and on it everything of OpenGL: uploads frames, draws, presents, and releases a frame
/// once the GPU has read it. The window system may block that thread for ever (a sleeping screen, a hidden window).
/// Every function here can be called meanwhile, but for the destructor.
class Renderer {
 public:
  /// Starts the thread, and waits until it can draw. `surface`, `frame_times` and `clock` outlive it.
  /// `on_news` is called on the thread when failure(), take_screenshot() or take_warnings() has something. Throws Error
  /// if OpenGL cannot do what is needed.
  Renderer(Surface& surface, FrameTimesFile& frame_times, const Clock& clock, DrawingOptions options,
           std::function<void()> on_news);
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;
  /// Waits for the end of the thread.
  ~Renderer();

  /// Draws this from now on.
  void show(ShownScene shown);

  // ---- Any thread ----

  /// There is something new to draw: a frame, or other facts of the stream.
  void wake() noexcept { wake_.wake(); }
  void request_redraw();
  void toggle_panel();
  /// As Drawing::set_camera().
  void set_camera(const Camera& camera);
  /// As Drawing::record().
  void record(std::shared_ptr<WindowRecording> recording);
  /// take_screenshot() gets it.
  void request_screenshot();

  struct Failure {
    std::string message;
    ExitStatus status = ExitStatus::failed;
  };
  /// Why nothing is drawn any more, if so.
  [[nodiscard]] std::optional<Failure> failure() const;

  /// A picture, or why there is none.
  struct Screenshot {
    Image picture;
    std::string error;  // empty: there is a picture
  };
  std::optional<Screenshot> take_screenshot();
  /// Whether the thread has been busy with one picture for that long.
  [[nodiscard]] bool is_blocked_for(std::int64_t duration_ns) const noexcept;

  /// What the user should know about the drawing, once; else empty.
  std::vector<std::string> take_warnings();

  /// Where the streams' pictures are, as they were drawn last, if that is another `version` than the caller's. Returns
  /// whether it is. With DrawingOptions::tells_places; `on_news` is called when it changes.
  bool take_seen(SeenPictures& seen, std::uint64_t& version) const;

  /// How the last frame was uploaded.
  [[nodiscard]] UploadMethod upload_method() const noexcept { return upload_method_; }
  /// The period of the screen's refreshes, as of the last frame; 0: not known.
  [[nodiscard]] std::int64_t refresh_period_ns() const noexcept { return refresh_period_ns_; }
  /// How the last picture was drawn.
  [[nodiscard]] Quality quality() const noexcept { return quality_; }
  /// As Drawing::set_counts(), of the last picture.
  [[nodiscard]] std::optional<SetCounts> set_counts() const;
  /// Whether a processor draws. Constant.
  [[nodiscard]] bool is_software() const noexcept { return is_software_; }
  /// Why OpenGL does not read frames in DrawingOptions::memory where they lie; nothing if it does, or there is none.
  /// Constant.
  [[nodiscard]] const std::optional<std::string>& why_copied() const noexcept { return why_copied_; }
  /// What the driver calls the device: "llvmpipe", and with its details.
  [[nodiscard]] const std::string& device() const noexcept { return device_; }
  [[nodiscard]] const std::string& device_details() const noexcept { return device_details_; }

  // ---- The end: the main thread ----

  /// Takes no more frames, and releases those it has. Returns whether that is done by `deadline_ns`, and before the
  /// thread has been busy with one picture for `blocked_ns`.
  bool release(std::int64_t deadline_ns, std::int64_t blocked_ns);
  /// After release(): ends the thread. Before that it draws a last picture if `with_picture`, which take_screenshot()
  /// gets. Returns whether that is done by `deadline_ns`.
  bool finish(std::int64_t deadline_ns, bool with_picture);

 private:
  /// What other threads ask for.
  struct Requests {
    bool redraw = false;
    bool panel_toggle = false;
    bool screenshot = false;
    bool release = false;
    bool finish = false;
    bool picture_at_end = false;
    std::optional<Camera> camera{};
    std::optional<std::shared_ptr<WindowRecording>> recording{};
  };
  enum class Phase { starting, drawing, released, ended };

  void run() noexcept;
  void run_attached();
  void draw_until_released(Drawing& drawing);
  void draw(Drawing& drawing, const Requests& requests);
  void take_screenshot_of(Drawing& drawing, Image (Drawing::*capture)());
  void set_phase(Phase phase);
  void publish_seen(const SeenPictures& seen);
  void fail(const std::exception& error);
  void request(bool Requests::*what);
  Requests take_requests();
  std::optional<ShownScene> take_next_shown();
  bool wait_for_phase(Phase phase, std::int64_t deadline_ns, std::int64_t blocked_ns);

  Surface& surface_;
  FrameTimesFile& frame_times_;
  const Clock& clock_;
  const DrawingOptions options_;
  const std::function<void()> on_news_;
  WakeEvent wake_;
  std::atomic<UploadMethod> upload_method_ = UploadMethod::client_pointer;
  std::atomic<std::int64_t> refresh_period_ns_ = 0;
  std::atomic<Quality> quality_ = Quality::fast;
  bool is_software_ = false;               // set before the constructor returns
  std::optional<std::string> why_copied_;  // set before the constructor returns
  std::string device_;                     // set before the constructor returns
  std::string device_details_;
  std::atomic<std::int64_t> busy_since_ns_ = 0;  // with a picture; 0: with none

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Phase phase_ = Phase::starting;
  Requests requests_;
  std::optional<ShownScene> next_shown_;
  std::optional<SetCounts> set_counts_;
  std::optional<Failure> failure_;
  std::optional<Screenshot> screenshot_;
  std::vector<std::string> warnings_;
  SeenPictures seen_;
  std::uint64_t seen_version_ = 0;

  std::thread thread_;
};

}  // namespace framewire
