// The viewer's picture: what is drawn, and when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "gl/gpu_copies.hpp"
#include "viewer/composition.hpp"
#include "viewer/depth_view.hpp"
#include "viewer/drawing_options.hpp"
#include "viewer/frame_times_file.hpp"
#include "viewer/painters.hpp"
#include "viewer/picture_recording.hpp"
#include "viewer/redraw_schedule.hpp"
#include "viewer/refresh_schedule.hpp"
#include "viewer/report.hpp"
#include "viewer/scene.hpp"
#include "viewer/seen_picture.hpp"
#include "viewer/shown_stream.hpp"
#include "viewer/surface.hpp"
#include "viewer/viewed_stream.hpp"

namespace framewire {

struct WindowRecording;

/// A scene, and the streams of its layers, in its order. A value.
struct ShownScene {
  Scene scene;
  std::vector<std::shared_ptr<ViewedStream>> streams;
  Selection selection{};
  std::size_t noted_layer = 0;
  std::string note{};  // about it; see Composition::show_note()
};

/// Takes the frames of the streams, uploads, draws and presents them, and releases each once the GPU has read it.
/// Frames that are chosen together are drawn and presented together. Redraws where the picture changes without a frame.
/// Used on the drawing thread, which has the surface's OpenGL context.
class Drawing {
 public:
  /// The arguments outlive it. Throws Error if OpenGL cannot do what is needed.
  Drawing(Surface& surface, FrameTimesFile& frame_times, const Clock& clock, const DrawingOptions& options);

  /// What to draw from now on. Lets go of streams that are not part of it. Throws Error as the constructor.
  void show(const ShownScene& shown);

  /// Does what is to be done now: at most one picture. The window system may block it for ever. Throws Error (failed)
  /// if nothing can be drawn any more.
  void draw();

  /// When draw() has something to do, if wake-ups do not say so before.
  [[nodiscard]] std::int64_t due_ns();

  void request_redraw() noexcept { schedule_.request(); }
  void toggle_panel() noexcept {
    composition_.toggle_panel();
    request_redraw();
  }
  /// Gives the recording all pictures from now on, until another call ends that; null: none. Lets go of the one before
  /// when its last picture is read back.
  void record(std::shared_ptr<WindowRecording> recording);
  /// From where scenes with depth are seen (Layout::depth).
  void set_camera(const Camera& camera) noexcept;

  /// Where the streams' pictures are, as they were drawn last; with DrawingOptions::tells_places.
  [[nodiscard]] const SeenPictures& seen() const noexcept { return seen_; }

  /// The picture as it is now. Throws Error.
  Image capture();
  /// The same; draws first what the last frame did not bring. Throws Error.
  Image capture_last();

  /// Ends the recordings, and releases the frames. No draw() follows.
  void release();

  /// The period of the surface's refreshes, as of the last frame; 0: not known.
  [[nodiscard]] std::int64_t refresh_period_ns() const noexcept { return refresh_period_ns_; }
  /// What the user should know of the drawing, each once; else empty.
  std::vector<std::string> take_warnings();
  /// How the last picture was drawn: well, if any of it was.
  [[nodiscard]] Quality quality() const noexcept;
  /// Of Layout::depth.
  [[nodiscard]] std::optional<SetCounts> set_counts() const noexcept;
  /// How the last frame was uploaded.
  [[nodiscard]] UploadMethod upload_method() const noexcept { return upload_method_; }

 private:
  using Streams = std::vector<std::unique_ptr<ShownStream>>;

  void follow_facts();
  void follow_news(std::size_t index);
  void follow_depth(const Scene& scene, bool is_first);
  void keep_set_counts() noexcept;
  void replace_depth(const std::vector<std::string>& scenes, bool is_first);
  bool show_frames();
  void show_frames_in_hand();
  void upload_kept();  // frames that nobody saw when they came: they may be the last of their streams
  void fail_to_upload(ShownStream& stream);
  void take_to_picture(ShownStream& stream);
  void redraw();
  void prepare_for_format(std::size_t index);
  void prepare(std::size_t index, Size size);
  void give_up(ShownStream& stream, const std::string& reason);
  void give_up_undrawn();
  void warm_up();
  void draw_picture(Size size, bool is_capture);
  // ---- drawing_shaders.cpp ----
  void follow_visibility();
  [[nodiscard]] std::int64_t shaders_due_ns(std::int64_t now_ns);
  // ---- drawing_recording.cpp ----
  void follow_recordings(std::int64_t now_ns);
  [[nodiscard]] std::int64_t recordings_due_ns(std::int64_t now_ns) const noexcept;
  void record_picture(std::int64_t shown_ns);
  void release_key_recording();
  void finish_recordings();
  // ----
  std::optional<Surface::Presented> present();
  void follow_seen_pictures();
  [[nodiscard]] std::optional<std::int64_t> choice_ns(std::int64_t now_ns);
  [[nodiscard]] bool follows_refreshes() const noexcept;
  std::int64_t request_for_silence(std::int64_t now_ns);
  [[nodiscard]] bool awaits_choice(std::int64_t now_ns);
  [[noreturn]] void fail_without_gpu();
  [[nodiscard]] bool draws_nothing() const noexcept;
  void plan_next_redraw(std::int64_t cost_ns);
  [[nodiscard]] std::int64_t delay_of_new_scene_ns() const noexcept;
  [[nodiscard]] std::int64_t step_ns() const noexcept;
  [[nodiscard]] Composition::Streams composed();
  void note_places();

  Surface& surface_;
  FrameTimesFile& frame_times_;
  const Clock& clock_;
  const DrawingOptions options_;
  const std::int64_t started_ns_;
  std::unique_ptr<GpuCopies> copies_;  // null: the GPU copies no frames
  Painters painters_;
  Composition composition_;
  std::unique_ptr<DepthView> depth_;       // of Layout::depth
  std::vector<std::string> depth_scenes_;  // that it has
  std::optional<SetCounts> past_sets_;     // of earlier ones
  Camera camera_;
  Streams streams_;                       // of the scene's layers, in its order
  std::vector<ComposedStream> composed_;  // the same; kept for its memory
  SeenPictures seen_;
  RedrawSchedule schedule_;
  RefreshSchedule refreshes_;
  std::int64_t refresh_period_ns_ = 0;
  std::int64_t drawn_ns_ = 0;     // when the last picture was presented; 0: never
  std::int64_t composed_ns_ = 0;  // for when that says how long frames have stayed away
  UploadMethod upload_method_;
  std::optional<PictureRecording> recording_;       // of --output; none after release()
  std::shared_ptr<WindowRecording> key_recording_;  // by a key; null: none
  std::optional<PictureRecording> key_pictures_;    // for that
  std::vector<std::string> warnings_;
  std::size_t streams_so_far_ = 0;
  bool is_warm_ = false;
  std::optional<std::string> gpu_loss_;  // set: drawing is no longer possible
};

}  // namespace framewire
