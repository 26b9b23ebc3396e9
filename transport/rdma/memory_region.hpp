// The protection domains (PD) and memory regions (MR) of a sender.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "memory/host_block.hpp"
#include "transport/rdma/options.hpp"
#include "transport/rdma/work_requests.hpp"

namespace framewire {

/// Who may read the pools that are registered in a sender's PDs. Nobody may write them.
enum class PoolReaders {
  device,   // this machine's RDMA device, which sends them
  viewers,  // also viewers with a connection in the same PD, by RDMA READ
};

/// A sender's PDs, one for each device. Each pool is registered once in a PD, for any number of viewers. Owned by the
/// sender; outlives its sessions. Any thread.
class SenderProtectionDomains {
 public:
  explicit SenderProtectionDomains(PoolReaders readers = PoolReaders::device) noexcept : readers_(readers) {}

  /// The device's PD; the first call creates it. Throws Error.
  std::shared_ptr<ibv_pd> protection_domain_of(ibv_context* device);

  /// The block's MR in that PD; the first call creates it. The last holder of the pointer deregisters it. Throws Error.
  std::shared_ptr<const MemoryRegion> memory_region_of(const std::shared_ptr<ibv_pd>& protection_domain,
                                                       const std::shared_ptr<Block>& block);

  /// Each session gets the next completion vector, so that sessions have interrupts of their own.
  std::uint32_t next_completion_vector() noexcept { return completion_vectors_.next(); }

 private:
  const PoolReaders readers_;
  CompletionVectors completion_vectors_{0};
  std::mutex mutex_;
  std::map<ibv_context*, std::weak_ptr<ibv_pd>> protection_domains_;
  std::vector<std::weak_ptr<const MemoryRegion>> memory_regions_;
};

}  // namespace framewire
