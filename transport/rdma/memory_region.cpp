#include "transport/rdma/memory_region.hpp"

#include <algorithm>

namespace framewire {

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
    const std::shared_ptr<ibv_pd>& protection_domain, const std::shared_ptr<Block>& block) {
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
