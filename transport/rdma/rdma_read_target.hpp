// The sender's side of an rdma link in read mode: lets one viewer read pools by RDMA READ, and does nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transport/link.hpp"
#include "transport/rdma/memory_access.hpp"
#include "transport/rdma/memory_region.hpp"
#include "transport/rdma/rdma_link_core.hpp"

namespace framewire {

/// Used by its session's thread only.
class RdmaReadTarget final : public ReadTarget {
 public:
  /// Takes the authenticated connection, whose PD is one of `protection_domains`. Pools in those PDs are readable by
  /// viewers. They outlive this. Throws Error.
  RdmaReadTarget(std::unique_ptr<RdmaConnection> connection, SenderProtectionDomains& protection_domains);
  ~RdmaReadTarget() override;

  /// Registers the pool and its directory. Returns a description of a PoolAccess.
  LinkDescription open(const std::shared_ptr<Pool>& pool) override;
  void close_earlier() noexcept override;

  void maintain() noexcept override { core_.maintain(); }
  [[nodiscard]] int maintenance_descriptor() const noexcept override { return core_.maintenance_descriptor(); }
  [[nodiscard]] LinkState state() const noexcept override { return core_.state(); }
  [[nodiscard]] std::string fault() const override { return core_.fault(); }
  [[nodiscard]] MemoryAccess access_to(const MemoryKind& memory) const override { return core_.access_to(memory); }

 private:
  struct Opened {
    std::shared_ptr<const MemoryRegion> payload;
    std::shared_ptr<const MemoryRegion> directory;
  };

  SenderProtectionDomains& protection_domains_;
  RdmaLinkCore core_;
  std::vector<Opened> opened_;  // the newest last
};

}  // namespace framewire
