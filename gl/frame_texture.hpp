// Uploads frames into textures: from host memory, or from that of the GPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/text.hpp"
#include "frame/colour.hpp"
#include "frame/frame_layout.hpp"
#include "gl/fence.hpp"
#include "gl/frame_painter.hpp"
#include "gl/gpu_upload.hpp"
#include "gl/staging_buffer.hpp"
#include "gl/wrapped_blocks.hpp"
#include "memory/host_block.hpp"

namespace framewire {

/// A frame in its own memory. Owns nothing.
struct FrameView {
  FrameLayout layout;
  Colour colour;
  std::span<const std::byte> payload;                   // empty if the processor may not touch it: then in `block`
  const std::shared_ptr<const Block>* block = nullptr;  // contains the payload; null: unknown
  std::uint64_t offset_in_block_bytes = 0;              // of the payload
  ChromaLocation chroma_location = ChromaLocation::unspecified;
};

/// How pixels get into a texture. `pinned_memory`: the frame's own memory is the GL buffer, no copy. `device_memory`:
/// so is memory of the GPU. `gpu_copy`: the GPU copies them there by itself. `persistent_buffer`: the CPU copies them
/// into driver memory. `client_pointer`: the driver reads them before the call returns.
enum class UploadMethod { pinned_memory, device_memory, gpu_copy, persistent_buffer, client_pointer };
const char* name(UploadMethod method) noexcept;

/// Whether GL can read frames of this layout where they lie. If not, the CPU has to copy them, so that they must be in
/// host memory. The frame begins with a whole page of its block.
bool can_be_read_in_place(const FrameLayout& layout) noexcept;

/// The textures of the newest frame, for painters. Any picture format; size and format may change from frame to frame.
/// Used on the context's thread.
class FrameTexture {
 public:
  /// Empty `wanted`: the best method that the driver supports. Throws Error (failed) for an unsupported method. Frames
  /// in the memory of a device are uploaded from there whatever is `wanted` (WrappedBlocks::why_not()). With `copies`,
  /// which outlives this, the GPU copies those in host memory, once it can; null: it does not.
  explicit FrameTexture(std::optional<UploadMethod> wanted = {}, GpuCopies* copies = nullptr);
  FrameTexture(const FrameTexture&) = delete;
  FrameTexture& operator=(const FrameTexture&) = delete;

  /// Uploads a frame, or the rest of the one that upload_arrived() has begun. The GPU may read the payload until
  /// upload_done(); nobody may write to it before that. Returns false and keeps the previous frame if the layout is not
  /// a picture inside the payload, if the picture is too large for GL, or if memory runs out. Allocates textures only
  /// when the format or the size changes.
  bool upload(const FrameView& view) noexcept;

  /// Uploads the rows that lie in the first `arrived_bytes` of a frame, to textures that are not drawn. The same frame
  /// follows, in the same memory with more bytes, until upload() shows it or forget_arrived() gives it up. Call it only
  /// after upload_done(). The first call allocates as much again as the textures have. False as upload().
  bool upload_arrived(const FrameView& view, std::uint64_t arrived_bytes) noexcept;
  void forget_arrived() noexcept;

  /// Why upload() returned false. `done`: because of the frame, or memory ran out. Otherwise the GPU did not finish
  /// with the copies of earlier frames (`pending`), or it is lost (`failed`).
  [[nodiscard]] GpuWait waited() const noexcept { return waited_; }

  /// Whether upload() returned false because OpenGL refuses the memory of the frame's device: a copy in host memory can
  /// be uploaded. memory_refusal(): why.
  [[nodiscard]] bool has_refused_memory() const noexcept { return has_refused_memory_; }
  [[nodiscard]] const std::string& memory_refusal() const noexcept { return wrapped_.refusal(); }

  /// Whether the GPU no longer reads any uploaded payload: it has finished, or it is lost.
  bool upload_done() noexcept { return fence_.poll() != GpuWait::pending; }

  /// Waits for upload_done() until `deadline_ns` (monotonic).
  GpuWait wait_upload_done(std::int64_t deadline_ns) noexcept { return fence_.wait(deadline_ns); }

  /// The textures of the newest frame; valid until the next upload. None before the first.
  [[nodiscard]] const PaintedFrame& painted() const noexcept { return shown_.painted; }

  /// How the last frame was uploaded. Before the first frame: the method that will be tried first.
  [[nodiscard]] UploadMethod method() const noexcept { return method_; }

  /// Size of the newest frame; 0x0 before the first.
  [[nodiscard]] Size frame_size() const noexcept { return shown_.painted.size; }

  /// Releases the host memory blocks kept for the GPU. Call it at the end of a session or an epoch. Waits for the GPU.
  void forget_blocks() noexcept;

 private:
  /// Where GL reads a plane from.
  struct Source {
    GLuint buffer = 0;                   // 0: client memory
    std::uint64_t offset_bytes = 0;      // of the plane's first row in the buffer
    const std::byte* address = nullptr;  // of the same, in client memory
    std::uint32_t pitch_bytes = 0;
    std::byte* staging = nullptr;   // rows are copied here first; null: GL reads the payload itself
    std::uint32_t rows_filled = 0;  // that the texture has
  };
  using Sources = std::array<Source, max_texture_planes>;

  /// The textures of one frame.
  struct Textures {
    std::array<GlTexture, max_texture_planes> planes;
    PixelFormat format = PixelFormat::bytes;
    PaintedFrame painted;
  };

  bool begin_upload(const FrameView& view, Textures& textures) noexcept;
  bool finish_gpu_copy(const FrameView& view) noexcept;
  bool begin_gpu_copy(const FrameView& view) noexcept;
  void release_staging() noexcept;
  void fill_rows(const FrameView& view, Textures& textures, std::uint64_t arrived_bytes) noexcept;
  void end_upload() noexcept;
  [[nodiscard]] bool fits(const FrameView& view) const noexcept;
  static bool prepare_textures(const FrameLayout& layout, Textures& textures) noexcept;
  [[nodiscard]] GLuint wrapped_buffer(const FrameView& view) noexcept;
  bool find_sources(const FrameView& view) noexcept;
  bool claim_staging(const FrameLayout& layout, std::span<const bool> is_staged) noexcept;

  UploadMethod preferred_;                                   // until the driver refuses it
  UploadMethod fallback_ = UploadMethod::persistent_buffer;  // for payloads that preferred_ cannot take
  UploadMethod method_;
  GLint max_side_ = 0;
  WrappedBlocks wrapped_;
  StagingBuffer staging_;
  std::optional<GpuUpload> gpu_upload_;
  GlFence fence_;
  GpuWait waited_ = GpuWait::done;
  Textures shown_;
  Textures next_;  // of a frame that is still arriving
  Sources sources_;
  bool is_arriving_ = false;
  bool has_refused_memory_ = false;
  bool has_staging_ = false;  // claimed for the frame that is being uploaded
};

}  // namespace framewire
