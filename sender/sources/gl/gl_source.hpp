// Frames drawn by a shader: gl:NAME and gl:FILE.frag.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "gl/egl_context.hpp"
#include "gl/readback.hpp"
#include "sender/source.hpp"
#include "sender/sources/gl/gl_renderer.hpp"
#include "sender/sources/gl/tick_clock.hpp"

namespace framewire {

/// Constructed and destroyed on one thread, run on another; its GL context goes with it.
class GlSource final : public Source {
 public:
  /// Takes --size (default 3840x2160), --fps (60), --pix-fmt (rgba). Compiles the shader. Throws Error: no such scene
  /// or file, a shader that does not compile, no OpenGL 4.5, a format or size that cannot be drawn.
  explicit GlSource(const SourceOptions& options, std::optional<ReadbackMethod> wanted = {});
  ~GlSource() override;
  GlSource(const GlSource&) = delete;
  GlSource& operator=(const GlSource&) = delete;

  [[nodiscard]] std::string describe() const override;
  void run(Stream& stream) override;

  /// Measures this scene on this machine, drawing and reading back, and returns the largest of the usual 16:9 sizes
  /// from 640x360 to 3840x2160 that takes less than `share_of_period` of a frame's time; 640x360 if none does. The rest
  /// is for the viewer and the links: without a GPU they work on the same cores. Takes a fraction of a second. Throws
  /// Error as the constructor does. `options`: size is not looked at.
  static Size largest_size_that_keeps_rate(const SourceOptions& options, double share_of_period = 0.45);

 private:
  /// A frame that is being read back into its slot.
  struct InFlight {
    ClaimedSlot slot;
    std::int64_t pts_ns;
  };

  bool draw_next(Stream& stream);
  void publish_oldest(Stream& stream);
  bool publish_until(Stream& stream, std::size_t in_flight, std::int64_t deadline_ns);

  std::string name_;
  double frames_per_s_;
  bool realtime_;
  EglContext context_;
  std::optional<GlRenderer> renderer_;  // these two go before the context
  std::optional<Readback> readback_;
  StreamFormat format_;
  std::string renderer_name_;

  std::optional<TickClock> clock_;  // from the first viewer on
  std::int64_t tick_ = -1;
  std::array<std::optional<InFlight>, 2> in_flight_;  // oldest first
};

}  // namespace framewire
