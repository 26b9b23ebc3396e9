#include "sender/sources/gl/dma_buf_reading.hpp"

#include "gl/dma_buf_reader.hpp"

namespace framewire {

std::unique_ptr<DmaBufReader> open_dma_buf_reader(const std::string& drm_node) {
  return GlDmaBufReader::open(drm_node);
}

}  // namespace framewire
