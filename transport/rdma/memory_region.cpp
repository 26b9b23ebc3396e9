#include "transport/rdma/memory_region.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "base/text.hpp"

namespace framewire {

namespace {

Error no_registration(std::uint64_t size_bytes, int error_number) {
  rlimit limit{};
  if (error_number != ENOMEM || ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return Error::from_errno("register " + format_bytes(size_bytes) + " with the RDMA device", error_number);
  }
  return Error::failed("cannot register " + format_bytes(size_bytes) +
                       " with the RDMA device: this process may lock only " + format_bytes(limit.rlim_cur) +
                       "; raise that with 'ulimit -l unlimited', or take fewer or smaller slots");
}

}  // namespace

std::shared_ptr<const MemoryRegion> register_memory(const std::shared_ptr<ibv_pd>& protection_domain,
                                                    std::shared_ptr<const HostBlock> block, unsigned access) {
  const std::span<std::byte> bytes = block->bytes();
  ibv_mr* mr = ibv_reg_mr(protection_domain.get(), bytes.data(), bytes.size(), access);
  if (const unsigned needed = access & ~unsigned{IBV_ACCESS_OPTIONAL_RANGE};
      mr == nullptr && errno != ENOMEM && needed != access) {
    mr = ibv_reg_mr(protection_domain.get(), bytes.data(), bytes.size(), needed);
  }
  if (mr == nullptr) {
    throw no_registration(bytes.size(), errno);
  }
  return std::make_shared<const MemoryRegion>(
      MemoryRegion{.protection_domain = protection_domain, .block = std::move(block), .mr = VerbsPtr<ibv_mr>(mr)});
}

ibv_send_wr bind_request(ibv_mw& window, const MemoryRegion& memory_region) noexcept {
  ibv_send_wr request{};
  request.opcode = IBV_WR_BIND_MW;
  request.send_flags = IBV_SEND_SIGNALED;
  request.bind_mw.mw = &window;
  request.bind_mw.rkey = ibv_inc_rkey(window.rkey);
  request.bind_mw.bind_info = {.mr = memory_region.mr.get(),
                               .addr = reinterpret_cast<std::uint64_t>(memory_region.mr->addr),
                               .length = memory_region.mr->length,
                               .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
  return request;
}

std::shared_ptr<ibv_pd> allocate_protection_domain(ibv_context* device) {
  return {own(ibv_alloc_pd(device), "make an RDMA protection domain")};
}

std::shared_ptr<ibv_pd> SenderProtectionDomains::protection_domain_of(ibv_context* device) {
  const std::scoped_lock lock(mutex_);
  std::weak_ptr<ibv_pd>& place = protection_domains_[device];
  std::shared_ptr<ibv_pd> protection_domain = place.lock();
  if (!protection_domain) {
    protection_domain = allocate_protection_domain(device);
    place = protection_domain;
  }
  return protection_domain;
}

std::shared_ptr<const MemoryRegion> SenderProtectionDomains::memory_region_of(
    const std::shared_ptr<ibv_pd>& protection_domain, const std::shared_ptr<HostBlock>& block) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(memory_regions_, [](const auto& one) { return one.expired(); });
  for (const auto& weak : memory_regions_) {
    if (auto known = weak.lock(); known && known->protection_domain == protection_domain && known->block == block) {
      return known;
    }
  }
  // Read access only, even for the device itself.
  constexpr auto by_viewers = static_cast<unsigned>(IBV_ACCESS_REMOTE_READ);
  auto memory_region = register_memory(protection_domain, block, readers_ == PoolReaders::viewers ? by_viewers : 0U);
  memory_regions_.push_back(memory_region);
  return memory_region;
}

}  // namespace framewire
