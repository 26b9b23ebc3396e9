// Composes the displayed picture.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gl/canvas.hpp"
#include "transport/session/subscriber.hpp"
#include "viewer/compositor.hpp"
#include "viewer/overlay.hpp"
#include "viewer/panel.hpp"
#include "viewer/playout_schedule.hpp"
#include "viewer/scene.hpp"
#include "viewer/silence.hpp"
#include "viewer/statistics.hpp"
#include "viewer/stream_facts.hpp"

namespace framewire {

struct WindowRecording;

/// A stream as the picture has it. What it points at outlives the call that gets it.
struct ComposedStream {
  Layer* layer = nullptr;
  const StreamFacts* facts = nullptr;
  std::string_view defect{};         // why its frames cannot be drawn; empty: they can
  Statistics* statistics = nullptr;  // for the panel, as what follows
  SubscriberCounts counts{};
  std::optional<Pacing> pacing{};
  std::int64_t clock_uncertainty_ns = 0;  // by how much latencies may be wrong
  std::optional<Silence> silence{};       // none: no frames are due
};

/// Draws the streams' pictures, and over them the panel, and for a stream without a picture or a sender what it waits
/// for. A stream that has the surface for itself is drawn directly; several are put together by a Compositor. Used on
/// the drawing thread.
class Composition {
 public:
  using Streams = std::span<const ComposedStream>;

  /// What is drawn from now on. The panel is about the selected layer.
  void show(Scene scene, Selection selection = {});
  /// Something about a layer, under everything: the layer has a frame. Empty text: nothing.
  void show_note(std::size_t layer, std::string text);

  /// What the surface is like.
  struct Target {
    Size size;
    bool keeps_content = false;            // what was drawn the last time is still there
    const PaintedFrame* merged = nullptr;  // of Layout::depth: all streams in one; null: there is nothing yet
    Painters* painters = nullptr;          // draw it
  };
  /// Draws into the bound framebuffer. `streams` are those of the scene's layers, in its order.
  void draw(const Target& target, Streams streams, std::int64_t now_ns);

  /// If it `keeps` them, pictures() has all that draw() draws. Otherwise it lacks what is drawn directly.
  void keep_pictures(bool keeps) noexcept;
  /// The streams' pictures as draw() has put them together, without what lies over them; null: there are none yet.
  [[nodiscard]] const Canvas* pictures() const noexcept;
  /// Another number than before if they may have changed.
  [[nodiscard]] std::uint64_t pictures_version() const noexcept { return pictures_version_; }

  /// Sets up what the first frame of a stream's new format needs: draws a black one. Overwrites the bound framebuffer
  /// if draws_directly(). Throws as Layer::prepare().
  void prepare(Size surface, Streams streams, std::size_t index);
  /// Whether the only stream is drawn into the surface's own framebuffer.
  [[nodiscard]] bool draws_directly() const noexcept { return is_direct_; }

  /// Whether the last draw() had a place for the pictures of the stream with this index: it is not hidden, nor without
  /// a box.
  [[nodiscard]] bool shows(std::size_t index) const noexcept;
  /// The same, if the next draw() is on a surface of this size.
  [[nodiscard]] bool will_show(std::size_t index, Size surface);
  /// Where the picture of a stream was drawn; {} if nothing of it is seen.
  [[nodiscard]] PicturePlace place_of(const ComposedStream& stream, std::size_t index) const noexcept;

  /// The surface's content has changed otherwise.
  void forget_surface() noexcept { has_overlay_ = true; }

  /// Time until the next animation step of the picture; RedrawSchedule::never_ns if nothing is animated.
  [[nodiscard]] std::int64_t step_ns(Streams streams) const noexcept;

  void toggle_panel() noexcept { panel_.toggle(); }
  /// Says over the picture that it is being recorded, until null. What it points at outlives that.
  void show_recording(const WindowRecording* recording) noexcept { recording_ = recording; }
  [[nodiscard]] bool shows_recording() const noexcept { return recording_ != nullptr; }
  /// A frame of the stream with this index was shown.
  void frame_shown(std::size_t index, const StageTimes& stages) noexcept;

 private:
  [[nodiscard]] PlacedLayer placed(const ComposedStream& stream, std::size_t index, Size frame) const noexcept;
  void lay_out_for(Size surface);
  void draw_one(const Target& target, Streams streams, std::int64_t now_ns);
  void draw_directly(const Target& target, const ComposedStream& stream, std::int64_t now_ns);
  void draw_merged(const Target& target) const;
  void compose(const Target& target, Streams streams, bool has_overlay, std::int64_t now_ns);
  [[nodiscard]] bool has_status(Streams streams) const noexcept;
  [[nodiscard]] std::string silence_of(const ComposedStream& stream, std::size_t index, std::int64_t now_ns) const;
  void draw_silences(Streams streams, std::int64_t now_ns, std::vector<PictureRectangle>& notes) const;
  [[nodiscard]] bool hides_others(Streams streams, std::size_t index) const noexcept;
  [[nodiscard]] std::string name_of(const ComposedStream& stream) const;
  void draw_overlay(Size surface, Streams streams, std::int64_t now_ns);
  void draw_status(Size surface, const ComposedStream& stream, const PictureRectangle& box, std::int64_t now_ns) const;
  void draw_selection(Size surface, const ComposedStream& stream) const;
  void draw_layer_note(Size surface, const ComposedStream& stream) const;
  void draw_panel(Size surface, const ComposedStream& stream, std::int64_t now_ns);

  Scene scene_;
  bool is_direct_ = false;
  Size laid_out_;                        // boxes_ are for this size
  std::vector<PictureRectangle> boxes_;  // of the layers
  std::vector<PlacedLayer> placed_;      // kept for its memory
  std::unique_ptr<Compositor> compositor_;
  bool keeps_pictures_ = false;
  std::optional<Canvas> kept_;  // of a picture that needs no compositor
  std::uint64_t pictures_version_ = 0;
  bool has_overlay_ = true;  // the surface has more than the pictures
  Selection selection_;
  std::size_t noted_layer_ = 0;
  std::string note_;          // about it
  bool has_silence_ = false;  // the last draw() has said so
  const WindowRecording* recording_ = nullptr;
  Overlay overlay_;
  Panel panel_;
};

/// GL_RENDERER without the text that drivers add in brackets: "llvmpipe".
std::string short_renderer();

}  // namespace framewire
