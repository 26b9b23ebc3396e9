// The viewer, from searching for a sender to its final statistics.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "command/interruption.hpp"
#include "command/terminal_log.hpp"
#include "viewer/composition.hpp"
#include "viewer/frame_selector.hpp"
#include "viewer/layer.hpp"
#include "viewer/options.hpp"
#include "viewer/recorder.hpp"
#include "viewer/redraw_schedule.hpp"
#include "viewer/report.hpp"
#include "viewer/surface.hpp"

namespace framewire {

/// One loop on the main thread: receives frames, draws the selected one, returns credits and handles keys. It sleeps in
/// Subscriber::wait(), which returns as soon as a frame arrives.
class Program {
 public:
  /// Opens the surface, then starts connecting to the sender. `interruption` and `log` outlive it. Throws Error.
  Program(const ViewerOptions& options, Interruption& interruption, TerminalLog& log);
  /// The same with the caller's surface, for tests.
  Program(const ViewerOptions& options, Interruption& interruption, TerminalLog& log, std::unique_ptr<Surface> surface);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Runs until the sender sends bye, the user quits, or a limit is reached. Reports the result and returns it.
  ExitStatus run();

 private:
  // Receiving.
  void follow_status();
  void say_status(const SubscriberStatus& before);
  std::optional<ReceivedFrame> next_frame();
  void take_frames();
  void follow_epoch(const ReceivedFrame& frame);
  void follow_slice(const ReceivedFrame& slice);
  void record(const ReceivedFrame& frame);
  void answer_events();
  [[nodiscard]] bool has_all_frames() const;
  [[nodiscard]] bool is_over() const;
  void require_sender();

  // Drawing.
  void show_frame();
  void upload(ReceivedFrame frame);
  std::optional<std::int64_t> present();
  [[noreturn]] void fail_without_gpu();
  [[nodiscard]] ChromaLocation chroma_location() const noexcept;
  [[nodiscard]] bool draws_nothing() const noexcept;
  void redraw();
  [[nodiscard]] std::int64_t step_ns() const noexcept;
  void prepare_for_epoch();
  void warm_up();
  void draw_picture();
  void take_screenshot();
  void save_screenshot(const std::string& file);
  void save_last_picture();

  // Reporting.
  void say_format_warnings();
  void say_live_line();
  [[nodiscard]] ViewerReport report() const;

  void sleep();
  ExitStatus finish();

  const ViewerOptions options_;
  Interruption& interruption_;
  TerminalLog& log_;
  const SystemClock clock_;
  const std::int64_t started_ns_;
  Statistics statistics_;
  std::unique_ptr<Surface> surface_;  // owns the GL context: outlives everything that draws
  Layer layer_;
  Composition composition_;
  Recorder recorder_;
  Subscriber subscriber_;
  FrameSelector<ReceivedFrame> selector_;
  RedrawSchedule schedule_;

  CompositionFacts facts_;
  std::uint64_t status_version_ = 0;
  std::pair<std::uint64_t, std::uint32_t> epoch_{};  // session and epoch of the newest frame
  std::optional<ExitStatus> ending_;                 // set: the loop ends
  std::vector<std::string> said_format_warnings_;    // format_warnings() already printed
  bool is_warm_ = false;
  std::optional<std::string> gpu_loss_;  // set: drawing is no longer possible
  std::int64_t next_line_ns_ = 0;
};

}  // namespace framewire
