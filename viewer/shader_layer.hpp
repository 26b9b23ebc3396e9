// Draws a scene of gl: as a layer of the viewer's picture.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "gl/frame_painter.hpp"
#include "gl/gpu_stopwatch.hpp"
#include "gl/scene_keyboard.hpp"
#include "gl/scene_mouse.hpp"
#include "gl/scene_renderer.hpp"
#include "transport/source_inbox.hpp"
#include "viewer/sender_process.hpp"
#include "viewer/shader_cadence.hpp"
#include "viewer/shader_stream.hpp"

namespace framewire {

/// Draws the scene of a ShaderStream into a texture of the layer's own size, at its own rate and at most once a
/// picture, as framewire-send would; not while nobody sees it. A scene that cannot be drawn is read and compiled again
/// later, as a sender that fails is started again. Used on the drawing thread, in the surface's OpenGL context.
class ShaderLayer {
 public:
  /// The references outlive it.
  ShaderLayer(ShaderStream& stream, const Clock& clock);
  ShaderLayer(const ShaderLayer&) = delete;
  ShaderLayer& operator=(const ShaderLayer&) = delete;

  [[nodiscard]] ShaderStream& stream() const noexcept { return stream_; }

  /// Whether somebody sees it. It is not drawn before somebody does.
  void set_seen(bool is_seen) noexcept { is_seen_ = is_seen; }

  /// When a frame is to be drawn: in the past for at once; INT64_MAX: never, as it is now.
  [[nodiscard]] std::int64_t due_ns();

  /// Whether there is a frame for the picture that is chosen for `choice_ns`: draw() draws it. `refresh_period_ns`: of
  /// the screen; 0: not known. The first call, and those after a failure, compile the shader. Throws Error if the GPU
  /// is lost.
  bool take(std::int64_t choice_ns, std::int64_t refresh_period_ns);

  /// Draws the frame that take() has taken, with the input that has come until now. Changes what SceneRenderer does.
  void draw();

  /// What was drawn last; of draw(). It is valid until the next draw().
  [[nodiscard]] const PaintedFrame& picture() const noexcept { return picture_; }
  /// The number of the frame that take() has taken, from 0, and its time in the animation.
  [[nodiscard]] std::uint64_t frame() const noexcept { return frame_; }
  [[nodiscard]] std::int64_t time_ns() const noexcept { return moment_.time_ns; }

  /// What the user should know, each once; else empty.
  std::string take_warning() { return std::exchange(warning_, {}); }

 private:
  [[nodiscard]] bool is_gpu_busy();
  bool load(std::int64_t now_ns);
  void fail(const std::exception& error, bool is_usage, std::int64_t now_ns);
  void follow_input();

  ShaderStream& stream_;
  const Clock& clock_;
  std::optional<SceneRenderer> renderer_;
  PaintedFrame picture_;
  std::unique_ptr<SourceInbox::Reader> input_;
  SceneMouse mouse_;
  SceneKeyboard keyboard_;
  ShaderCadence cadence_;
  GpuStopwatch stopwatch_;
  std::int64_t begun_ns_ = 0;  // draw() of the last frame
  ShaderCadence::Moment moment_;
  std::uint64_t frames_taken_ = 0;
  std::uint64_t frame_ = 0;
  bool is_seen_ = true;
  RestartDelay delay_;
  std::int64_t retry_ns_ = INT64_MIN;  // not before; INT64_MAX: never
  std::string warning_;
};

}  // namespace framewire
