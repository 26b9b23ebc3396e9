// The viewer's picture: what is drawn, and when.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "viewer/cadence_control.hpp"
#include "viewer/composition.hpp"
#include "viewer/frame_times_file.hpp"
#include "viewer/layer.hpp"
#include "viewer/redraw_schedule.hpp"
#include "viewer/refresh_schedule.hpp"
#include "viewer/statistics.hpp"
#include "viewer/stream_facts.hpp"
#include "viewer/surface.hpp"
#include "viewer/viewed_stream.hpp"

namespace framewire {

struct DrawingOptions {
  std::optional<Quality> quality;        // none: good, if a GPU draws
  bool asks_cadence = false;             // tell the sender when to render
  bool verify = false;                   // check that no frame changes while it is held
  std::int64_t first_draw_delay_ns = 0;  // of the first picture without a frame
};

/// Takes the frames of a stream, uploads, draws and presents them, and releases each once the GPU has read it. Redraws
/// where the picture changes without a frame. Used on the drawing thread, which has the surface's OpenGL context.
class Drawing {
 public:
  /// The arguments outlive it. Throws Error if OpenGL cannot do what is needed.
  Drawing(Surface& surface, Statistics& statistics, FrameTimesFile& frame_times, const Clock& clock,
          const DrawingOptions& options);

  /// The stream to draw; it outlives this object.
  void show(ViewedStream& stream) noexcept { stream_ = &stream; }

  /// Does what is to be done now: at most one frame. The window system may block it for ever. Throws Error (failed) if
  /// nothing can be drawn any more.
  void draw();

  /// When draw() has something to do, if wake-ups do not say so before.
  [[nodiscard]] std::int64_t due_ns();

  void request_redraw() noexcept { schedule_.request(); }
  void toggle_panel() noexcept;

  /// The picture as it is now. Throws Error.
  Image capture();
  /// The same; draws first what the last frame did not bring. Throws Error.
  Image capture_last();

  /// Releases the frames. No draw() follows.
  void release() noexcept { layer_.forget_memory(); }

  /// The period of the surface's refreshes, as of the last frame; 0: not known.
  [[nodiscard]] std::int64_t refresh_period_ns() const noexcept { return refresh_period_ns_; }
  /// What the user should know of the drawing, each once; else empty.
  std::string take_warning();
  /// How the last picture was drawn.
  [[nodiscard]] Quality quality() const noexcept { return layer_.quality(); }
  [[nodiscard]] UploadMethod upload_method() const noexcept { return layer_.method(); }

 private:
  void follow_facts();
  void follow_epoch(const ReceivedFrame& frame) noexcept;
  bool show_frame();
  void ask_cadence(const ReceivedFrame& frame, std::int64_t choice_ns);
  void show(ReceivedFrame frame);
  void upload(ReceivedFrame frame);
  void upload_slices();
  void redraw();
  void prepare_for_epoch();
  void warm_up();
  void draw_picture();
  std::optional<Surface::Presented> present();
  [[nodiscard]] std::optional<std::int64_t> choice_ns(std::int64_t now_ns);
  [[nodiscard]] bool awaits_choice(std::int64_t now_ns);
  [[noreturn]] void fail_without_gpu();
  [[nodiscard]] ChromaLocation chroma_location() const noexcept;
  [[nodiscard]] bool draws_nothing() const noexcept;
  void plan_next_redraw(std::int64_t cost_ns);
  [[nodiscard]] std::int64_t step_ns() const noexcept;

  Surface& surface_;
  Statistics& statistics_;
  FrameTimesFile& frame_times_;
  const Clock& clock_;
  const std::int64_t started_ns_;
  Layer layer_;
  Composition composition_;
  RedrawSchedule schedule_;
  RefreshSchedule refreshes_;
  const bool asks_cadence_;
  CadenceControl cadence_;
  int frames_without_refresh_ = 0;
  bool has_said_misfit_ = false;
  std::string warning_;
  std::int64_t refresh_period_ns_ = 0;
  ViewedStream* stream_ = nullptr;

  StreamFacts facts_;
  std::uint64_t facts_version_ = 0;
  std::pair<std::uint64_t, std::uint32_t> epoch_{};  // session and epoch of the newest frame
  std::vector<ReceivedFrame> slices_;
  bool is_warm_ = false;
  std::optional<std::string> gpu_loss_;  // set: drawing is no longer possible
};

}  // namespace framewire
