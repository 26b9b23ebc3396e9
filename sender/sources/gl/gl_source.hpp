// Frames rendered by a shader: gl:NAME and gl:FILE.frag.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "gl/egl_context.hpp"
#include "gl/readback.hpp"
#include "gl/scene_keyboard.hpp"
#include "gl/scene_mouse.hpp"
#include "gl/scene_renderer.hpp"
#include "gl/shader_scene.hpp"
#include "gl/tick_clock.hpp"
#include "sender/source.hpp"

namespace framewire {

/// Constructed and destroyed on one thread, run on another. Its GL context moves between these threads.
class GlSource final : public Source {
 public:
  /// Uses --size (default 3840x2160), --fps (60) and --pix-fmt (rgba). Compiles the shader. Throws Error: no such scene
  /// or file, a shader that does not compile, no OpenGL 4.5, an unsupported format or size.
  explicit GlSource(const SourceOptions& options, std::optional<ReadbackMethod> wanted = {});
  ~GlSource() override;
  GlSource(const GlSource&) = delete;
  GlSource& operator=(const GlSource&) = delete;

  [[nodiscard]] std::string describe() const override;
  void take_input(SourceInbox& inbox) override { input_ = inbox.open_input(); }
  void run(Stream& stream) override;

  /// The rest of the period is for the viewer and the links, which share the cores if there is no GPU.
  static constexpr double usual_share_of_period = 0.45;

  /// Measures rendering and readback of this scene on this machine. Returns the largest of the usual 16:9 sizes from
  /// 640x360 to 3840x2160 that takes less than `share_of_period` of a frame period, or 640x360 if none does. Takes a
  /// fraction of a second. Throws Error as the constructor does. Ignores the size in `options`.
  static Size largest_size_that_keeps_rate(const SourceOptions& options,
                                           double share_of_period = usual_share_of_period);

 private:
  /// A frame whose readback is in flight.
  struct InFlight {
    std::optional<ClaimedSlot> slot;  // until the first slice is there
    std::int64_t pts_ns = 0;
    std::uint64_t user_tag = 0;
    std::optional<BegunFrame> begun{};
    std::uint16_t slices = 0;  // that are there
    bool is_on_device = false;
  };

  bool draw_next(Stream& stream);
  bool await_tick(Stream& stream);
  std::optional<RenderRequest> await_request(Stream& stream);
  bool draw(Stream& stream, const std::optional<RenderRequest>& request);
  void follow_input();
  void begin_readback(ClaimedSlot slot, const ReadbackSource* source, std::int64_t pts_ns, std::uint64_t user_tag);
  void publish_slice(Stream& stream);
  void forget_oldest() noexcept;
  [[nodiscard]] std::size_t unnumbered() const noexcept;
  bool publish_until(Stream& stream, std::size_t in_flight, std::int64_t deadline_ns);

  std::string name_;
  bool renders_on_request_ = false;
  double frames_per_s_;
  bool realtime_;
  EglContext context_;
  std::optional<SceneRenderer> renderer_;            // declared after context_: destroyed before it
  std::unique_ptr<const MemoryKind> device_memory_;  // by which the GPU copies frames; null: it does not
  std::optional<Readback> readback_;
  bool draws_into_slots_ = false;          // OpenGL reads back into the stream's slots on the GPU,
  std::optional<std::string> why_copied_;  // or, of a stream on a GPU, why it does not
  StreamFormat format_;
  std::string renderer_name_;

  std::optional<TickClock> clock_;  // set when the first viewer comes
  std::int64_t tick_ = -1;
  std::int64_t request_due_ns_ = 0;             // the next one may be drawn
  std::unique_ptr<SourceInbox::Reader> input_;  // until run() returns
  std::optional<SceneMouse> mouse_;
  SceneKeyboard keyboard_;
  std::array<std::optional<InFlight>, 2> in_flight_;  // oldest first
};

}  // namespace framewire
