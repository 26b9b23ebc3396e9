#include "transport/rdma/device_memory.hpp"

#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "transport/rdma/data_direct.hpp"

namespace framewire {

namespace {

constexpr const char* data_direct = "data-direct";
constexpr const char* dma_buf = "dma-buf";
constexpr const char* peer_memory = "peer-memory";

/// No way works.
class NotReached : public Error {
 public:
  NotReached(const std::string& message, std::string passed_over)
      : Error(ExitStatus::failed, message), passed_over_(std::move(passed_over)) {}
  /// As MemoryAccess::passed_over.
  [[nodiscard]] const std::string& passed_over() const noexcept { return passed_over_; }

 private:
  std::string passed_over_;
};

/// One registration, which goes from way to way.
class Ladder {
 public:
  Ladder(ibv_pd& protection_domain, const RegisteredAs& as, std::uint64_t size_bytes, unsigned access,
         const ClosedWays& closed_ways) noexcept
      : protection_domain_(protection_domain),
        as_(as),
        size_bytes_(size_bytes),
        access_(access & ~unsigned{IBV_ACCESS_OPTIONAL_RANGE}),
        closed_ways_(closed_ways) {}

  DeviceRegistration climb() {
    if (auto mr = by_data_direct()) {
      return result(std::move(mr), "data-direct", data_direct, "", true);
    }
    const std::string passed = "no data-direct: " + no_data_direct_;
    if (auto mr = by_dma_buf()) {
      return result(std::move(mr), "DMA-BUF", dma_buf, passed, as_.needs_read_back);
    }
    if (auto mr = by_address()) {
      return result(std::move(mr), "its address", peer_memory, passed + "; no DMA-BUF: " + no_dma_buf_,
                    as_.needs_read_back);
    }
    throw NotReached("cannot reach the memory of " + as_.device + " with the RDMA device " +
                         ibv_get_device_name(protection_domain_.context->device) + ": no data-direct (" +
                         no_data_direct_ + "), no DMA-BUF (" + no_dma_buf_ + "), and " + not_pinned_ + "; " + advice(),
                     passed + "; no DMA-BUF: " + no_dma_buf_ + "; no peer memory: " + not_pinned_);
  }

 private:
  /// Whether a trial has shown that the way does not work; then `why_not` says so.
  bool is_closed(const char* way, std::string& why_not) const {
    const auto found = closed_ways_.find(way);
    if (found != closed_ways_.end()) {
      why_not = found->second;
    }
    return found != closed_ways_.end();
  }

  VerbsPtr<ibv_mr> by_data_direct() {
    if (is_closed(data_direct, no_data_direct_)) {
      return nullptr;
    }
    const DataDirect device = data_direct_of(*protection_domain_.context);
    if (device.path.empty() || !as_.export_for_data_direct) {
      no_data_direct_ = device.path.empty() ? device.why_not : "the memory is not exported for it";
      return nullptr;
    }
    FileDescriptor dma_buf;
    try {
      dma_buf = as_.export_for_data_direct();
    } catch (const Error& error) {
      no_data_direct_ = error.what();
      return nullptr;
    }
    VerbsPtr<ibv_mr> mr(register_for_data_direct(protection_domain_, as_.dma_buf_offset_bytes, size_bytes_, as_.address,
                                                 dma_buf.get(), static_cast<int>(flags(true))));
    if (!mr) {
      has_no_window_ = errno == ENOMEM;
      no_data_direct_ = "its driver: " + errno_text(errno);
    }
    return mr;
  }

  VerbsPtr<ibv_mr> by_dma_buf() {
    no_dma_buf_ = as_.no_dma_buf;
    if (is_closed(dma_buf, no_dma_buf_) || !as_.dma_buf.valid()) {
      return nullptr;
    }
    VerbsPtr<ibv_mr> mr(ibv_reg_dmabuf_mr(&protection_domain_, as_.dma_buf_offset_bytes, size_bytes_, as_.address,
                                          as_.dma_buf.get(), static_cast<int>(flags(as_.needs_read_back))));
    if (!mr) {
      has_no_window_ |= errno == ENOMEM;
      no_dma_buf_ = "its driver: " + errno_text(errno);
    }
    return mr;
  }

  VerbsPtr<ibv_mr> by_address() {
    if (std::string why_not; is_closed(peer_memory, why_not)) {
      not_pinned_ = "by its address " + why_not;
      return nullptr;
    }
    not_pinned_ = as_.not_pinned;
    if (as_.pinned == nullptr) {
      return nullptr;
    }
    VerbsPtr<ibv_mr> mr(
        ibv_reg_mr_iova2(&protection_domain_, as_.pinned, size_bytes_, as_.address, flags(as_.needs_read_back)));
    if (!mr) {
      has_no_window_ |= errno == ENOMEM;
      not_pinned_ = "its address cannot be pinned: " + errno_text(errno);
    }
    return mr;
  }

  /// An RDMA READ of this device itself comes by the key, as the writes of a peer do.
  [[nodiscard]] unsigned flags(bool is_read_back) const noexcept {
    const bool is_written = (access_ & unsigned{IBV_ACCESS_REMOTE_WRITE}) != 0;
    return is_read_back && is_written ? access_ | unsigned{IBV_ACCESS_REMOTE_READ} : access_;
  }

  [[nodiscard]] DeviceRegistration result(VerbsPtr<ibv_mr> mr, const char* by, const char* way, std::string passed_over,
                                          bool needs_read_back) const {
    return {.mr = std::move(mr),
            .reached = "the memory of " + as_.device + " by " + by,
            .access = {.way = way, .passed_over = std::move(passed_over)},
            .needs_read_back = needs_read_back};
  }

  /// For a GPU, ENOMEM is not about its memory, nor about locked memory: other devices reach it through a window of the
  /// PCI bus, BAR1, which has 256 MB on many GPUs.
  [[nodiscard]] std::string advice() const {
    return has_no_window_ ? "its BAR1 window may be too small for " + std::to_string(size_bytes_ / 1'000'000) +
                                " MB; take fewer slots (send --viewers 1) or --memory host"
                          : "take --memory host";
  }

  ibv_pd& protection_domain_;
  const RegisteredAs& as_;
  const std::uint64_t size_bytes_;
  const unsigned access_;
  const ClosedWays& closed_ways_;
  std::string no_data_direct_;
  std::string no_dma_buf_;
  std::string not_pinned_;
  bool has_no_window_ = false;
};

}  // namespace

DeviceRegistration register_device_memory(ibv_pd& protection_domain, const RegisteredAs& as, std::uint64_t size_bytes,
                                          unsigned access, const ClosedWays& closed_ways) {
  return Ladder(protection_domain, as, size_bytes, access, closed_ways).climb();
}

MemoryAccess try_access(const std::shared_ptr<ibv_pd>& protection_domain, const MemoryKind& memory) try {
  if (memory.is_host()) {
    return {};
  }
  return register_memory(protection_domain, memory.allocate_private("a trial of RDMA", 1, {}), 0)->access;
} catch (const NotReached& none) {
  return {.way = "host", .passed_over = none.passed_over()};
} catch (const std::exception&) {  // no memory, say: whatever needs more of it says so
  return {};
}

}  // namespace framewire
