// Pictures on their way from a buffer of OpenGL into slots in host memory, by copies of the GPU.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "frame/slices.hpp"
#include "gl/device_parts.hpp"
#include "memory/fence.hpp"
#include "memory/host_block.hpp"

namespace framewire {

/// One picture in each part. Used on the context's thread.
class GpuDownload {
 public:
  /// `memory` is of the device that draws, and outlives this. Throws Error if the GPU cannot copy to host memory what
  /// OpenGL writes, or has no room.
  GpuDownload(const MemoryKind& memory, std::uint64_t picture_bytes);
  ~GpuDownload() { settle(); }
  GpuDownload(const GpuDownload&) = delete;
  GpuDownload& operator=(const GpuDownload&) = delete;

  /// Where OpenGL is to write the picture.
  [[nodiscard]] GLuint buffer() const noexcept { return parts_.buffer(); }
  [[nodiscard]] std::uint64_t offset_bytes(std::size_t part) const noexcept { return parts_.offset_bytes(part); }

  /// The picture in `part` is to go to `offset_bytes` of `slot`. Its copies before are finished.
  void begin(std::size_t part, std::shared_ptr<HostBlock> slot, std::uint64_t offset_bytes) noexcept;
  /// OpenGL has written this range of the picture: the GPU starts to copy it.
  void copy(std::size_t part, ByteRange range) noexcept;
  /// Waits until no copy writes to a slot, at most 2 s.
  void settle() noexcept;
  /// How many ranges copy() was called with.
  [[nodiscard]] std::size_t started(std::size_t part) const noexcept { return pictures_.at(part).copies.size(); }

  /// Waits until `deadline_ns` (monotonic) for the copy of range `index`. If it fails, OpenGL brings the range into the
  /// slot, which takes long; from then on has_failed(). `failed`: the context is lost, too.
  FenceState wait(std::size_t part, std::size_t index, std::int64_t deadline_ns) noexcept;
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }

 private:
  struct Copy {
    std::shared_ptr<Fence> fence;  // null: it could not begin
    ByteRange range;
  };
  struct Picture {
    std::shared_ptr<HostBlock> slot;
    std::uint64_t offset_bytes = 0;
    std::vector<Copy> copies;
  };

  void copy_by_opengl(const Picture& picture, std::size_t part, ByteRange range) const noexcept;

  DeviceParts parts_;
  std::array<Picture, DeviceParts::count> pictures_;
  bool has_failed_ = false;
};

}  // namespace framewire
