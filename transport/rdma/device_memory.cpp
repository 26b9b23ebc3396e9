#include "transport/rdma/device_memory.hpp"

#include <cerrno>
#include <utility>

#include "base/error.hpp"

namespace framewire {

namespace {

/// For a GPU, ENOMEM is not about its memory, nor about locked memory: other devices reach it through a window of the
/// PCI bus, BAR1, which has 256 MB on many GPUs.
std::string advice(bool has_no_window, std::uint64_t size_bytes) {
  return has_no_window ? "its BAR1 window may be too small for " + std::to_string(size_bytes / 1'000'000) +
                             " MB; take fewer slots (send --viewers 1) or --memory host"
                       : "take --memory host";
}

}  // namespace

DeviceRegistration register_device_memory(ibv_pd& protection_domain, const RegisteredAs& as, std::uint64_t size_bytes,
                                          unsigned access) {
  const unsigned flags = access & ~unsigned{IBV_ACCESS_OPTIONAL_RANGE};
  const std::string memory = "the memory of " + as.device;
  std::string no_dma_buf = as.no_dma_buf;
  bool has_no_window = false;
  if (as.dma_buf.valid()) {
    VerbsPtr<ibv_mr> mr(ibv_reg_dmabuf_mr(&protection_domain, as.dma_buf_offset_bytes, size_bytes, as.address,
                                          as.dma_buf.get(), static_cast<int>(flags)));
    if (mr) {
      return {.mr = std::move(mr), .reached = memory + " by DMA-BUF"};
    }
    has_no_window = errno == ENOMEM;
    no_dma_buf = "its driver: " + errno_text(errno);
  }
  std::string not_pinned = as.not_pinned;
  if (as.pinned != nullptr) {
    VerbsPtr<ibv_mr> mr(ibv_reg_mr_iova2(&protection_domain, as.pinned, size_bytes, as.address, flags));
    if (mr) {
      return {.mr = std::move(mr), .reached = memory + " by its address"};
    }
    has_no_window |= errno == ENOMEM;
    not_pinned = "its address cannot be pinned: " + errno_text(errno);
  }
  throw Error::failed("cannot reach " + memory + " with the RDMA device " +
                      ibv_get_device_name(protection_domain.context->device) + ": no DMA-BUF (" + no_dma_buf +
                      "), and " + not_pinned + "; " + advice(has_no_window, size_bytes));
}

}  // namespace framewire
