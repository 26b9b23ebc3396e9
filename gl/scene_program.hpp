// A scene as a GPU program, with Shadertoy's inputs.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/text.hpp"
#include "frame/camera.hpp"
#include "gl/handle.hpp"
#include "gl/shader_program.hpp"
#include "gl/shader_scene.hpp"

namespace framewire {

/// iKeyboard, in rows of as many columns: which keys are down, were pressed for this frame, and were pressed an odd
/// number of times. 255: yes.
inline constexpr std::size_t keyboard_columns = 256;
inline constexpr std::size_t keyboard_rows = 3;
using KeyboardTexels = std::array<std::uint8_t, keyboard_columns * keyboard_rows>;

/// Inputs of a scene.
struct SceneUniforms {
  double time_s = 0;                         // iTime
  double time_delta_s = 0;                   // iTimeDelta
  double frames_per_s = 0;                   // iFrameRate
  std::uint64_t frame = 0;                   // iFrame, and the number in the counter
  std::array<float, 4> mouse{};              // iMouse
  std::array<float, 2> drag{};               // iDrag
  std::array<float, 2> wheel{};              // iWheel
  const KeyboardTexels* keyboard = nullptr;  // null: no key was ever pressed
  Camera camera{};                           // eyeRay(), of a scene with depth
};

/// iDate: year, month from 0, day, seconds of the day with a fraction (a float, so precise to 1/128 s). Local time.
std::array<float, 4> scene_date(std::chrono::system_clock::time_point now) noexcept;

/// The order of the components in memory.
enum class ComponentOrder { rgba, bgra };

/// Used on the context's thread.
class SceneProgram {
 public:
  /// Throws ShaderError with line numbers of the scene's own text.
  SceneProgram(const ShaderScene& scene, ComponentOrder order);

  /// Fills the bound framebuffer of `size`, flipped: the picture's top row is GL's row 0. Alpha is 1 everywhere. The
  /// second target, if there is one, gets the depth of a scene that has it (has_depth() in frame/pixel_format.hpp).
  void draw(Size size, const SceneUniforms& moment) const noexcept;

 private:
  void set_camera(const Camera& camera) const noexcept;

  ShaderProgram program_;
  GlVertexArray no_vertices_;
  GlTexture noise_;     // created if the scene reads an iChannel
  GlTexture keyboard_;  // created if it reads iKeyboard
  struct {
    int resolution, time, time_delta, frame_rate, frame, date, mouse, drag, wheel, key_bits, eye, eye_axes,
        field_of_view;
  } uniforms_;
};

}  // namespace framewire
