#include "transport/rdma/rdma_read_target.hpp"

#include <cassert>
#include <utility>

namespace framewire {

RdmaReadTarget::RdmaReadTarget(std::unique_ptr<RdmaConnection> connection, SenderProtectionDomains& protection_domains)
    : protection_domains_(protection_domains), core_(std::move(connection), "the other end") {}

RdmaReadTarget::~RdmaReadTarget() {
  core_.connection().disconnect();
}

LinkDescription RdmaReadTarget::open(const std::shared_ptr<Pool>& pool) {
  assert(pool->directory() != nullptr);
  const auto& protection_domain = core_.connection().protection_domain();
  Opened opened{.payload = protection_domains_.memory_region_of(protection_domain, pool->block()),
                .directory = protection_domains_.memory_region_of(protection_domain, pool->directory()->block())};
  core_.set_access(*opened.payload);
  const PoolAccess access{.payload_address = opened.payload->address,
                          .payload_key = opened.payload->mr->rkey,
                          .directory_address = opened.directory->address,
                          .directory_key = opened.directory->mr->rkey,
                          .slots = pool->slot_count()};
  opened_.push_back(std::move(opened));
  return describe(access);
}

void RdmaReadTarget::close_earlier() noexcept {
  if (!opened_.empty()) {
    opened_.erase(opened_.begin(), opened_.end() - 1);
  }
}

}  // namespace framewire
