// Frames in host memory onto the screen.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/text.hpp"
#include "frame/colour.hpp"
#include "frame/frame_layout.hpp"
#include "gl/fence.hpp"
#include "gl/frame_painter.hpp"
#include "gl/pinned_blocks.hpp"
#include "gl/staging_buffer.hpp"
#include "memory/host_block.hpp"

namespace framewire {

/// A frame where it lies. Owns nothing.
struct FrameView {
  FrameLayout layout;
  Colour colour;
  std::span<const std::byte> payload;
  const std::shared_ptr<const HostBlock>* block = nullptr;  // that the payload lies in; null: unknown
  std::uint64_t offset_in_block_bytes = 0;                  // of the payload
  ChromaLocation chroma_location = ChromaLocation::unspecified;
};

/// How pixels get into a texture: the frame's own memory is the GL buffer (no copy); a copy into memory of the
/// driver's; the driver reads the memory before the call returns.
enum class UploadMethod { pinned_memory, persistent_buffer, client_pointer };
const char* name(UploadMethod method) noexcept;

/// The textures of the newest frame, and how to draw it. Any picture format; size and format may change from frame to
/// frame. A frame is shown as it is coded: matrix and range are applied, transfer function and primaries are not (no
/// tone mapping), and sample aspect is the caller's business. Drawn one to one, every pixel is within 1/255 of what the
/// standards say. Chroma of 4:2:0 and 4:2:2 is interpolated linearly; where it lies is the view's to say (chroma_site).
/// The context's thread.
class FrameTexture {
 public:
  /// Empty: the best that the driver has. Throws Error (failed) for a method that it has not, ShaderError if its
  /// compiler fails us.
  explicit FrameTexture(std::optional<UploadMethod> wanted = {});
  FrameTexture(const FrameTexture&) = delete;
  FrameTexture& operator=(const FrameTexture&) = delete;

  /// Takes a frame over. The GPU may read the payload until upload_done(): until then nobody may write to it. Returns
  /// false, and keeps the frame before, if the layout is no picture inside the payload, or too large for GL, or memory
  /// for it is short. Allocates only when the format or the size changes.
  bool upload(const FrameView& view) noexcept;

  /// Whether the GPU has finished reading the payload of every upload so far, or reads nothing any more because it was
  /// lost.
  bool upload_done() noexcept { return fence_.poll() != GpuWait::pending; }

  /// Waits for that until `deadline_ns` (monotonic).
  GpuWait wait_upload_done(std::int64_t deadline_ns) noexcept { return fence_.wait(deadline_ns); }

  /// Draws the newest frame into the current framebuffer, or nothing before the first. The rectangle is in pixels, x
  /// and y its lower left corner as GL counts. The frame's top row is at the top of a window; with `flip_y` it is the
  /// framebuffer's first row, as reading it back wants it. Alpha is the frame's for rgba and bgra, else 1. Sets the
  /// state that FramePainter::draw names; blends only if the caller switched that on.
  void draw(int x, int y, int width, int height, bool flip_y) const noexcept;

  /// How the last frame was uploaded; before the first, how it will be tried.
  [[nodiscard]] UploadMethod method() const noexcept { return method_; }

  /// Of the newest frame; 0x0 before the first.
  [[nodiscard]] Size frame_size() const noexcept { return painted_.size; }

  /// Lets go of the blocks of memory that it keeps for the GPU: call it when a session or an epoch is over. Waits for
  /// the GPU.
  void forget_blocks() noexcept;

 private:
  struct Source {
    GLuint buffer;               // 0: client memory
    std::uint64_t offset_bytes;  // of the plane's first row in the buffer
    const std::byte* address;    // of the same, in client memory
    std::uint32_t pitch_bytes;
  };
  using Sources = std::array<Source, max_texture_planes>;

  [[nodiscard]] bool fits(const FrameView& view) const noexcept;
  bool prepare_textures(const FrameLayout& layout) noexcept;
  [[nodiscard]] GLuint pinned_buffer(const FrameView& view) noexcept;
  bool find_sources(const FrameView& view, Sources& sources) noexcept;
  bool stage(const FrameView& view, std::span<const bool> is_staged, Sources& sources) noexcept;
  void fill_textures(const FrameLayout& layout, const Sources& sources) noexcept;

  UploadMethod preferred_;                                   // as long as the driver does not refuse it
  UploadMethod fallback_ = UploadMethod::persistent_buffer;  // for payloads that preferred_ cannot take
  UploadMethod method_;
  GLint max_side_ = 0;
  FramePainter painter_;
  PinnedBlocks pinned_;
  StagingBuffer staging_;
  GlFence fence_;
  std::array<GlTexture, max_texture_planes> textures_;
  PixelFormat texture_format_ = PixelFormat::bytes;
  PaintedFrame painted_;
};

}  // namespace framewire
