// The sender's end of an rdma link in read mode: lets one viewer read pools, and does nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transport/link.hpp"
#include "transport/rdma/memory_region.hpp"
#include "transport/rdma/rdma_endpoint.hpp"

namespace framewire {

/// Everything belongs to its session's thread.
class RdmaReadTarget {
 public:
  /// Takes the proven connection, which belongs to one of `domains`: those in which pools stand open for reading. They
  /// outlive it. Throws Error.
  RdmaReadTarget(std::unique_ptr<RdmaConnection> connection, SenderProtectionDomains& protection_domains);
  ~RdmaReadTarget();

  /// Opens a pool that has a frame directory: what the viewer needs to read both. Throws Error (failed) where they
  /// cannot be registered.
  PoolAccess open(const std::shared_ptr<Pool>& pool);
  /// The viewer reads no pool that was opened before the newest one any more.
  void close_earlier() noexcept;

  /// Readable when the state has changed; on_readable() comes next.
  [[nodiscard]] int descriptor() const noexcept { return end_.descriptor(); }
  void on_readable() noexcept { end_.clear_end(); }
  [[nodiscard]] LinkState state() const noexcept { return end_.state(); }
  [[nodiscard]] std::string fault() const { return end_.fault(); }

 private:
  struct Opened {
    std::shared_ptr<const MemoryRegion> payload;
    std::shared_ptr<const MemoryRegion> directory;
  };

  SenderProtectionDomains& protection_domains_;
  RdmaEndpoint end_;
  std::vector<Opened> opened_;  // the newest last
};

}  // namespace framewire
