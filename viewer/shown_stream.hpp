// The drawing thread's part of a stream.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "transport/session/frame_copies.hpp"
#include "viewer/cadence_control.hpp"
#include "viewer/composition.hpp"
#include "viewer/drawing_options.hpp"
#include "viewer/frame_times_file.hpp"
#include "viewer/layer.hpp"
#include "viewer/painters.hpp"
#include "viewer/shader_layer.hpp"
#include "viewer/stream_facts.hpp"
#include "viewer/surface.hpp"
#include "viewer/viewed_stream.hpp"

namespace framewire {

/// Follows a stream, takes its frames, uploads them, and says what became of each. The frames of a scene that the
/// viewer draws itself are drawn in place of that. Used on the drawing thread.
class ShownStream {
 public:
  /// The references outlive it. `number` is the stream's in the file of frame times. Throws Error if OpenGL cannot do
  /// what is needed.
  ShownStream(std::shared_ptr<ViewedStream> stream, Painters& painters, FrameTimesFile& frame_times, const Clock& clock,
              const DrawingOptions& options, GpuCopies* copies, std::size_t number);
  ShownStream(const ShownStream&) = delete;
  ShownStream& operator=(const ShownStream&) = delete;

  [[nodiscard]] const std::shared_ptr<ViewedStream>& stream() const noexcept { return stream_; }
  [[nodiscard]] const StreamFacts& facts() const noexcept { return facts_; }
  [[nodiscard]] Layer& layer() noexcept { return layer_; }
  [[nodiscard]] const Layer& layer() const noexcept { return layer_; }
  [[nodiscard]] ComposedStream composed() noexcept;
  /// Session and epoch of the newest frame that was taken.
  [[nodiscard]] const std::pair<std::uint64_t, std::uint32_t>& epoch() const noexcept { return epoch_; }

  // ---- What it is about ----

  struct News {
    bool looks_different = false;
    bool has_format = false;  // a format was announced: prepare the layer for it, and call confirm_format()
  };
  void follow_facts();
  /// What follow_facts() and take() have noticed since the last call.
  News take_news() noexcept { return std::exchange(news_, {}); }
  /// The sender holds the frames of a new format back until this is called.
  void confirm_format() noexcept;

  // ---- Frames ----

  /// When a frame is to be chosen: in the past for at once; nothing if none waits, and none is to be drawn soon.
  [[nodiscard]] std::optional<std::int64_t> due_ns(std::int64_t now_ns);
  /// If due_ns() has nothing: when it will have something although nobody wakes the drawing thread; INT64_MAX: never.
  [[nodiscard]] std::int64_t wake_ns(std::int64_t now_ns);
  /// Whether the viewer draws its frames itself.
  [[nodiscard]] bool is_drawn_here() const noexcept { return shader_ != nullptr; }
  /// Of such a stream: whether the scene shows it. It is not drawn otherwise, nor while nobody sees the surface.
  void set_seen(bool is_seen, bool is_surface_seen);

  /// Takes the frame that a choice made for `choice_ns` shows. Returns false if there is none. It counts as superseded
  /// unless shown() follows: settle() says so. `refresh_period_ns`: of the screen; 0: not known.
  bool take(std::int64_t choice_ns, std::int64_t refresh_period_ns);
  /// Whether take() returned a frame that is not settled.
  [[nodiscard]] bool has_frame_in_hand() const noexcept { return header_.has_value(); }
  /// Makes the frame in hand the layer's picture: uploads or draws it. Returns false if it is not a picture or too
  /// large; the picture stays. A frame in the memory of a device that OpenGL refuses is uploaded as a copy in host
  /// memory. Throws Error (failed) if the GPU hangs or is lost.
  bool upload();
  /// Why upload() or upload_kept() returned false.
  [[nodiscard]] const std::string& upload_fault() const noexcept { return upload_fault_; }
  /// Nobody will see the frame in hand: checks and releases it.
  void pass_unseen();
  /// Nobody sees the frame in hand now. It may be the stream's last, so that it is kept until the next one comes, at
  /// most until kept_until_ns(): upload_kept() makes it the layer's picture then, or as soon as somebody would see it.
  void keep_unseen();
  /// Returns false as upload(). Throws as upload().
  bool upload_kept(bool is_seen);
  /// INT64_MAX: no frame is kept.
  [[nodiscard]] std::int64_t kept_until_ns() const noexcept { return kept_ ? kept_until_ns_ : INT64_MAX; }
  /// Releases all memory of frames. The layer keeps its picture.
  void release_memory() noexcept;
  /// The frame in hand was presented. Returns how long its stages took.
  StageTimes shown(const Surface::Presented& presented);
  /// Counts the frame in hand, if any, as superseded.
  void settle() noexcept;

  /// The newest frame's slices are uploaded as they arrive if `may_upload`, unless an earlier frame is still to be
  /// shown: its own slices may be uploaded already.
  void upload_slices(bool may_upload);

  /// Why the stream's frames cannot be drawn; empty: they can.
  [[nodiscard]] const std::string& defect() const noexcept { return defect_; }
  /// Why its frames do not belong into the picture as it is now; empty: they do. They are received all the same.
  void set_misfit(const std::string& text);
  /// Its frames are not drawn from now on, until another format comes.
  void set_defect(std::string text) { defect_ = std::move(text); }

  /// What the user should know, each once; else empty.
  std::string take_warning() { return std::exchange(warning_, {}); }

 private:
  /// Sender and ring go without the slot of a frame that nobody sees for so long.
  static constexpr std::int64_t longest_kept_ns = ns_per_s;

  Layer::Upload upload(ReceivedFrame frame);
  void release_kept() noexcept;
  bool take_drawn(std::int64_t choice_ns, std::int64_t refresh_period_ns);
  void follow_epoch(const ReceivedFrame& frame) noexcept;
  Layer::Upload upload_copy(ReceivedFrame frame);
  void ask_cadence(const ReceivedFrame& frame, std::int64_t choice_ns, std::int64_t refresh_period_ns);
  [[nodiscard]] ChromaLocation chroma_location() const noexcept;

  const std::shared_ptr<ViewedStream> stream_;
  FrameTimesFile& frame_times_;
  const std::size_t number_;
  const Clock& clock_;
  std::unique_ptr<ShaderLayer> shader_;  // of a stream that is drawn here; else null
  Layer layer_;
  StreamFacts facts_;
  std::uint64_t facts_version_ = 0;
  News news_;
  std::pair<std::uint64_t, std::uint32_t> epoch_{};  // session and epoch of the newest frame
  std::vector<ReceivedFrame> slices_;
  FrameCopies host_copies_;  // of frames that were queued before OpenGL refused their memory
  bool has_said_refusal_ = false;
  std::optional<ReceivedFrame> frame_;  // in hand, and not uploaded
  std::optional<FrameHeader> header_;   // of the frame in hand
  std::optional<ReceivedFrame> kept_;   // settled, and not uploaded: keep_unseen()
  std::int64_t kept_until_ns_ = 0;
  std::string upload_fault_;
  ShownTimes times_;  // of the same
  std::string defect_;
  std::string misfit_;
  std::string said_misfit_;  // the newest

  const bool asks_cadence_;
  CadenceControl cadence_;
  int frames_without_refresh_ = 0;
  LastingMisfit cadence_misfit_;
  std::string warning_;
};

}  // namespace framewire
