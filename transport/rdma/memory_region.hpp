// Protection domains: what a queue pair may touch.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "memory/host_block.hpp"
#include "transport/rdma/verbs.hpp"

namespace framewire {

/// Registered memory. It keeps its block, and its domain, alive.
struct MemoryRegion {
  std::shared_ptr<ibv_pd> protection_domain;
  std::shared_ptr<const HostBlock> block;
  VerbsPtr<ibv_mr> mr;
};

/// Registers a whole block with `access` (ibv_access_flags), without those of them that are optional where the device
/// refuses them (IBV_ACCESS_RELAXED_ORDERING; a kernel before 5.8 passes over it). Throws Error; where the limit of
/// locked memory is the cause, that says the limit, what would be needed and how to raise it.
std::shared_ptr<const MemoryRegion> register_memory(const std::shared_ptr<ibv_pd>& protection_domain,
                                                    std::shared_ptr<const HostBlock> block, unsigned access);

/// The signalled request that opens a window of type 2 over all of it for remote writes, and gives it its next key.
ibv_send_wr bind_request(ibv_mw& window, const MemoryRegion& memory_region) noexcept;

/// A protection domain on a device. Throws Error.
std::shared_ptr<ibv_pd> allocate_protection_domain(ibv_context* device);

/// Who may read the pools of a sender's domains. Nobody ever writes them.
enum class PoolReaders {
  device,   // this machine's own, which sends them
  viewers,  // those with a connection in the same domain, too
};

/// A sender's domains, one per device: each pool is registered once in it, whatever number of viewers it goes to. Owned
/// by the sender; outlives its sessions. Any thread.
class SenderProtectionDomains {
 public:
  explicit SenderProtectionDomains(PoolReaders readers = PoolReaders::device) noexcept : readers_(readers) {}

  /// The device's domain, made when it is asked for first. Throws Error.
  std::shared_ptr<ibv_pd> protection_domain_of(ibv_context* device);

  /// The block's registration in that domain, made when it is asked for first, and gone with the last who holds it.
  /// Throws Error.
  std::shared_ptr<const MemoryRegion> memory_region_of(const std::shared_ptr<ibv_pd>& protection_domain,
                                                       const std::shared_ptr<HostBlock>& block);

  /// For each session the next one, so that its completions come by an interrupt of its own.
  std::uint32_t next_completion_vector() noexcept { return next_vector_.fetch_add(1, std::memory_order_relaxed); }

 private:
  const PoolReaders readers_;
  std::atomic<std::uint32_t> next_vector_ = 0;
  std::mutex mutex_;
  std::map<ibv_context*, std::weak_ptr<ibv_pd>> protection_domains_;
  std::vector<std::weak_ptr<const MemoryRegion>> memory_regions_;
};

}  // namespace framewire
