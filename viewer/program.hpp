// The viewer, from searching for a sender to its final statistics.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "command/interruption.hpp"
#include "command/terminal_log.hpp"
#include "viewer/frame_times_file.hpp"
#include "viewer/input_forwarder.hpp"
#include "viewer/local_layers.hpp"
#include "viewer/message_port.hpp"
#include "viewer/offered_streams.hpp"
#include "viewer/options.hpp"
#include "viewer/orbit_control.hpp"
#include "viewer/renderer.hpp"
#include "viewer/report.hpp"
#include "viewer/scene_editor.hpp"
#include "viewer/scene_watch.hpp"
#include "viewer/surface.hpp"
#include "viewer/viewed_stream.hpp"
#include "viewer/window_recording.hpp"

namespace framewire {

/// The main thread's part: takes the window's events, keeps to limits of time, prints progress, and ends everything. It
/// never waits for frames, for a picture or for a file that is being recorded; other threads do
/// (docs/threading.md).
class Program {
 public:
  /// Starts connecting to the senders. `interruption` and `log` outlive it. `surface` is null: it opens what the
  /// options ask for. Throws Error.
  Program(const ViewerOptions& options, Interruption& interruption, TerminalLog& log, std::unique_ptr<Surface> surface);
  /// Waits for the drawing thread, which is_blocked() after run() says may be in vain.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Runs until every sender has sent bye, the user quits, or a limit is reached. Reports the result and returns it.
  ExitStatus run();

  /// After run(): the window system holds the drawing thread in a call that may never return. Everything else is done;
  /// the process should end without destroying this object.
  [[nodiscard]] bool is_blocked() const noexcept { return is_blocked_; }

 private:
  /// A stream that was closed; the drawing thread may still use it, and it may still have its place.
  struct Retired {
    std::shared_ptr<ViewedStream> stream;
    std::future<void> closing;  // its goodbye; before the stream is destroyed
  };

  [[nodiscard]] Scene with_wall(Scene scene) const;
  ViewedStream::Listeners listeners();
  std::shared_ptr<ViewedStream> open(const ViewedSource& source, bool is_one_of_several);
  std::shared_ptr<ViewedStream> receive(const ViewedSource& source, bool is_one_of_several);
  void follow_scene();
  void follow_scene_file();
  void follow_offers();
  bool show(const SceneOfSources& scene);
  void warn_of_scene();
  void arrange(const SceneInputs& input);
  void move_camera(const SceneInputs& input);
  void show_arranged();
  void retire(std::shared_ptr<ViewedStream> stream, const std::string& why);
  std::future<void> close_aside(ViewedStream& stream, std::string statistics_json);
  std::shared_ptr<ViewedStream> replace(const std::shared_ptr<ViewedStream>& ended, const ViewedSource& source);
  void close(ViewedStream& stream);
  void follow_local_layers();
  void answer(const SurfaceEvents& events);
  void follow_input();
  void leave(ViewedStream& stream);
  void follow_renderer();
  void say_warning();
  void throw_if_drawing_failed();
  void save_screenshot();
  [[nodiscard]] bool is_over() const;
  [[nodiscard]] std::int64_t end_ns() const;
  [[nodiscard]] bool has_all_sets() const;
  [[nodiscard]] bool is_over(const ViewedStream& stream) const;
  [[nodiscard]] bool is_unread() const noexcept;
  [[nodiscard]] bool have_all_ended() const noexcept;
  [[nodiscard]] bool is_stuck_at_last_frame() const noexcept;
  [[nodiscard]] std::int64_t deadline_ns() const noexcept;
  void require_sender(const ViewedStream& stream) const;
  void require_senders() const;
  void say_live_line();
  [[nodiscard]] std::string longest_silence(std::int64_t now_ns) const;
  [[nodiscard]] ViewerReport report(std::span<const std::shared_ptr<ViewedStream>> streams) const;
  ExitStatus finish();
  ExitStatus without_picture(ExitStatus status);
  [[nodiscard]] ExitStatus status_of_streams() const;
  [[nodiscard]] bool has_shown() const;
  void close_streams();
  void release_frames();
  void release_streams() noexcept;
  void save_frame_times();
  void save_last_picture();

  const ViewerOptions options_;
  Interruption& interruption_;
  TerminalLog& log_;
  const SystemClock clock_;
  const std::int64_t started_ns_;
  FrameTimesFile frame_times_;
  std::unique_ptr<Surface> surface_;
  const Size drawn_size_;  // of scenes and patterns that are made here, if nothing says another
  SyncGroup sync_;
  Statistics picture_counts_;         // of the pictures that are recorded
  std::optional<Recorder> recorder_;  // of the same; outlives the drawing thread
  std::optional<Renderer> renderer_;
  std::optional<WindowRecordings> window_recordings_;   // by the key R
  std::unique_ptr<ViewerMessagePort> messages_;         // --messages; outlives the streams
  std::vector<std::shared_ptr<ViewedStream>> streams_;  // of the given scene's layers, in its order
  SceneOfSources shown_;                                // the given scene
  std::atomic<bool> has_new_session_ = false;           // since follow_offers()
  std::vector<std::vector<std::string>> offers_;        // follow_offers() has looked at these
  std::vector<Retired> retired_;
  std::vector<std::future<void>> screenshots_;  // that are being written
  bool has_shown_before_ = false;               // a frame of a stream that is not in streams_ any more
  SceneEditor editor_;                          // of the scene that was given; without a window nothing is edited
  OrbitControl orbit_;                          // of Layout::depth
  std::optional<InputForwarder> input_;
  LocalLayers local_layers_;
  std::optional<SceneWatch> scene_watch_;
  std::int64_t next_scene_poll_ns_ = INT64_MAX;

  std::optional<ExitStatus> ending_;  // set: the loop ends
  std::set<std::string> said_warnings_;
  bool has_said_failure_ = false;
  bool is_blocked_ = false;
  std::int64_t next_line_ns_ = 0;
};

}  // namespace framewire
