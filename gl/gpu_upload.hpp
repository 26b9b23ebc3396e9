// Frames on their way from host memory into a buffer of OpenGL, by copies of the GPU.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "gl/device_parts.hpp"
#include "gl/fence.hpp"
#include "gl/gpu_copies.hpp"
#include "memory/fence.hpp"

namespace framewire {

/// One frame at a time. Its bytes lie in the buffer as in host memory. Used on the context's thread.
class GpuUpload {
 public:
  /// `copies` outlives this.
  explicit GpuUpload(GpuCopies& copies) noexcept : copies_(copies) {}
  ~GpuUpload() { forget(); }
  GpuUpload(const GpuUpload&) = delete;
  GpuUpload& operator=(const GpuUpload&) = delete;

  /// Makes room for a frame of `size_bytes` at `offset_bytes` of `host`. Waits until `deadline_ns` (monotonic) for the
  /// GPU to have read the frame that was there. False if the frame has to take another way: copies of this block are
  /// not prepared yet, or cannot be had. Allocates only when `size_bytes` grows.
  bool begin(const std::shared_ptr<const Block>& host, std::uint64_t offset_bytes, std::uint64_t size_bytes,
             std::int64_t deadline_ns) noexcept;

  /// Where the frame is in the buffer.
  [[nodiscard]] GLuint buffer() const noexcept { return parts_->buffer(); }
  [[nodiscard]] std::uint64_t offset_bytes() const noexcept { return parts_->offset_bytes(part_); }

  /// Starts to copy what no call has copied of the first `end_bytes` of the frame. How many of them are there by now,
  /// without a gap. What fails is known to wait().
  std::uint64_t copy(std::uint64_t end_bytes) noexcept;

  /// Waits until `deadline_ns` (monotonic) for all that was started. False if it has not come: no frame takes this way
  /// any more.
  bool wait(std::int64_t deadline_ns) noexcept;

  /// All commands that read the buffer have been given to GL.
  void end() noexcept { fences_.at(part_) = GlFence::insert(); }

  /// Lets go of host memory, and of the GPU's. Waits for the GPU.
  void forget() noexcept;

 private:
  struct Copy {
    std::shared_ptr<Fence> fence;
    std::uint64_t end_bytes = 0;
  };

  bool prepare(const std::shared_ptr<const Block>& host, std::uint64_t size_bytes);

  GpuCopies& copies_;
  bool is_broken_ = false;
  std::shared_ptr<const PreparedMemory> host_;
  std::optional<DeviceParts> parts_;
  std::array<GlFence, DeviceParts::count> fences_;  // of commands that read the parts
  std::size_t part_ = 0;
  std::uint64_t host_offset_bytes_ = 0;
  std::uint64_t started_bytes_ = 0;
  std::uint64_t copied_bytes_ = 0;
  std::deque<Copy> copying_;
};

}  // namespace framewire
