// Brings the planes of a picture to host memory, packed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "gl/offscreen_target.hpp"
#include "gl/readback.hpp"
#include "gl/shader_program.hpp"
#include "memory/dma_buf_reader.hpp"

namespace framewire {

/// Draws the bytes of pictures of one shape, and reads them back. Used on the context's thread.
class PlanePacker {
 public:
  static constexpr std::size_t max_in_flight = Readback::max_in_flight;

  /// For pictures of this one's shape. Throws Error (failed) if they are too large for the driver.
  explicit PlanePacker(const DmaBufPicture& shape);

  /// Whether the picture has that shape.
  [[nodiscard]] bool fits(const DmaBufPicture& picture) const noexcept;

  /// Starts to read the picture, whose planes are in these textures, into the block. Requires in_flight() <
  /// max_in_flight. The error of OpenGL, if there is one: then what comes into the block is no picture.
  [[nodiscard]] GLenum begin(const DmaBufPicture& picture, const std::array<GLuint, 2>& textures,
                             const std::shared_ptr<HostBlock>& block, std::uint64_t offset_bytes) noexcept;

  /// Waits until the oldest picture is in its block, or until `deadline_ns` (monotonic). False at the deadline, after a
  /// loss, and when none is in flight.
  bool wait_finished(std::int64_t deadline_ns) noexcept;

  [[nodiscard]] bool has_failed() const noexcept;
  [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_; }
  [[nodiscard]] ReadbackMethod method() const noexcept { return parts_.front()->readback.method(); }

 private:
  /// Whole rows of a target, and with a second one what is left.
  struct Part {
    Part(std::uint32_t first_pixel, Size size)
        : first_pixel(first_pixel), target(size), readback(size.width, size.height) {}

    std::uint32_t first_pixel;
    OffscreenTarget target;
    Readback readback;
  };

  DmaBufPicture shape_;
  ShaderProgram program_;
  GlVertexArray no_vertices_;
  std::array<std::optional<Part>, 2> parts_;
  std::size_t in_flight_ = 0;
  bool first_is_read_ = false;  // of the oldest picture, the first part
};

}  // namespace framewire
