#include "transport/rdma/device_memory.hpp"

#include <cerrno>
#include <utility>

#include "base/error.hpp"

namespace framewire {

DeviceRegistration register_device_memory(ibv_pd& protection_domain, const RegisteredAs& as, std::uint64_t size_bytes,
                                          unsigned access) {
  const unsigned flags = access & ~unsigned{IBV_ACCESS_OPTIONAL_RANGE};
  const std::string memory = "the memory of " + as.device;
  std::string no_dma_buf = as.no_dma_buf;
  if (as.dma_buf.valid()) {
    VerbsPtr<ibv_mr> mr(ibv_reg_dmabuf_mr(&protection_domain, as.dma_buf_offset_bytes, size_bytes, as.address,
                                          as.dma_buf.get(), static_cast<int>(flags)));
    if (mr) {
      return {.mr = std::move(mr), .reached = memory + " by DMA-BUF"};
    }
    no_dma_buf = "its driver: " + errno_text(errno);
  }
  std::string not_pinned = as.not_pinned;
  if (as.pinned != nullptr) {
    VerbsPtr<ibv_mr> mr(ibv_reg_mr_iova2(&protection_domain, as.pinned, size_bytes, as.address, flags));
    if (mr) {
      return {.mr = std::move(mr), .reached = memory + " by its address"};
    }
    not_pinned = "its address cannot be pinned: " + errno_text(errno);
  }
  throw Error::failed("cannot reach " + memory + " with the RDMA device " +
                      ibv_get_device_name(protection_domain.context->device) + ": no DMA-BUF (" + no_dma_buf +
                      "), and " + not_pinned + "; take --memory host");
}

}  // namespace framewire
