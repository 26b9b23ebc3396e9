// Planes of DMA-BUFs as textures, without a copy.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "gl/egl_context.hpp"
#include "gl/handle.hpp"
#include "memory/dma_buf_reader.hpp"

namespace framewire {

/// A texture of the whole plane, which may be sampled by texelFetch(); it keeps the memory. Throws Error (failed) if
/// the driver refuses the plane. Called on the context's thread.
using ImportPlane = std::function<GlTextureView(const DmaBufPlane& plane, std::uint32_t component_bytes)>;

/// Makes textures of planes. Used on the context's thread.
class DmaBufImporter {
 public:
  /// `context` is current, and outlives this. Throws Error (failed) that names what the driver lacks.
  explicit DmaBufImporter(const EglContext& context);

  /// As ImportPlane.
  [[nodiscard]] GlTextureView import(const DmaBufPlane& plane, std::uint32_t component_bytes) const;

 private:
  void* display_;
  bool knows_modifiers_;
  std::string renderer_;
};

}  // namespace framewire
