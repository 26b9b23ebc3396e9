// Pictures in a GPU's memory that come to host memory by that GPU. gl/ reads them, media/ has them, and neither knows
// the other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "memory/fence.hpp"
#include "memory/host_block.hpp"

namespace framewire {

/// DRM_FORMAT_MOD_LINEAR and DRM_FORMAT_MOD_INVALID of the kernel's drm_fourcc.h. The second one: nothing is said.
inline constexpr std::uint64_t linear_modifier = 0;
inline constexpr std::uint64_t no_modifier = 0x00FFFFFFFFFFFFFF;

/// One plane of a picture in a DMA-BUF, whose bytes are `components` numbers for each texel. Checked: it is inside its
/// buffer, and what is wanted of it inside the plane.
struct DmaBufPlane {
  int descriptor = -1;  // the picture's
  std::uint64_t modifier = no_modifier;
  std::uint32_t offset_bytes = 0;
  std::uint32_t pitch_bytes = 0;
  std::uint32_t width = 0;  // texels
  std::uint32_t height = 0;
  std::uint32_t components = 1;  // 1 or 2
  // What is wanted of it, in texels.
  std::uint32_t first_column = 0;
  std::uint32_t first_row = 0;
  std::uint32_t columns = 0;
  std::uint32_t rows = 0;
};

/// Luma, and chroma in one plane: nv12, p010le and their kind. In host memory the wanted rows of both follow each other
/// without a gap.
struct DmaBufPicture {
  std::array<DmaBufPlane, 2> planes;
  std::uint32_t component_bytes = 1;  // 1 or 2

  [[nodiscard]] std::uint64_t plane_bytes(std::size_t plane) const noexcept {
    const DmaBufPlane& one = planes.at(plane);
    return std::uint64_t{one.columns} * one.rows * one.components * component_bytes;
  }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return plane_bytes(0) + plane_bytes(1); }
};

/// A picture that a device has decoded. Used by one thread at a time. It lives until nobody reads it any more.
class DevicePicture {
 public:
  DevicePicture() = default;
  virtual ~DevicePicture() = default;
  DevicePicture(const DevicePicture&) = delete;
  DevicePicture& operator=(const DevicePicture&) = delete;

  /// Its planes, once the device has written them; their descriptors live as long as this. Throws Error (failed).
  virtual DmaBufPicture export_planes() = 0;
  /// The processor copies it. Why that failed, in words; empty: it did not.
  virtual std::string copy_to(std::span<std::byte> slot) noexcept = 0;
};

/// Copies pictures by a GPU, a few at a time, in order. Used by one thread.
class DmaBufReader {
 public:
  DmaBufReader() = default;
  /// Waits for what the GPU still does, at most 2 s; the fences of the rest fail.
  virtual ~DmaBufReader() = default;
  DmaBufReader(const DmaBufReader&) = delete;
  DmaBufReader& operator=(const DmaBufReader&) = delete;

  /// Starts to copy the picture to `offset_bytes`, a multiple of 4, of `block`, which has room for it, rounded up to 4
  /// bytes. What the GPU does not take, the processor copies; failure() says why then. It keeps both alive until the
  /// fence is finished. The caller bounds how many are under way. Throws Error (failed) if the offset is none.
  [[nodiscard]] virtual std::shared_ptr<Fence> start(std::shared_ptr<DevicePicture> picture,
                                                     std::shared_ptr<HostBlock> block, std::uint64_t offset_bytes) = 0;

  /// Why the GPU reads no more pictures; empty: it does.
  [[nodiscard]] virtual std::string failure() const = 0;
};

/// Opens one on the GPU of a DRM node ("/dev/dri/renderD128"). Throws Error (failed) that says what is missing.
using OpenDmaBufReader = std::function<std::unique_ptr<DmaBufReader>(const std::string& drm_node)>;

}  // namespace framewire
