// What a driver says of a decoded picture in DMA-BUFs. Internal to media/.
#pragma once

#include "frame/frame_layout.hpp"
#include "media/libav.hpp"
#include "memory/dma_buf_reader.hpp"

namespace framewire::libav {

/// The part of a surface that a picture is, in luma samples.
struct SurfacePart {
  std::uint32_t surface_width = 0;
  std::uint32_t surface_height = 0;
  std::uint32_t left = 0;
  std::uint32_t top = 0;
};

/// Whether pictures of this format are read from DMA-BUFs.
[[nodiscard]] bool has_dma_buf_planes(PixelFormat format) noexcept;

/// The planes of the picture, which has this packed layout in host memory. All that the descriptor says is checked,
/// also against the size that the kernel gives its buffers. Throws Error (failed) that says what is wrong.
[[nodiscard]] DmaBufPicture picture_in(const AVDRMFrameDescriptor& descriptor, const SurfacePart& part,
                                       const FrameLayout& layout);

}  // namespace framewire::libav
