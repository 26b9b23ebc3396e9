#include "transport/rdma/rdma_exposure.hpp"

#include <cassert>
#include <utility>

namespace framewire {

RdmaExposure::RdmaExposure(std::unique_ptr<RdmaConnection> connection, SenderDomains& domains)
    : domains_(domains), end_(std::move(connection), "the other end") {
  end_.watch({});
}

RdmaExposure::~RdmaExposure() {
  end_.stop();
}

PoolAccess RdmaExposure::open(const std::shared_ptr<Pool>& pool) {
  assert(pool->board() != nullptr);
  const auto& domain = end_.connection().domain();
  Opened opened{.payload = domains_.registration_of(domain, pool->block()),
                .board = domains_.registration_of(domain, pool->board()->block())};
  const auto address_of = [](const Registration& registration) {
    return reinterpret_cast<std::uint64_t>(registration.region->addr);
  };
  const PoolAccess access{.payload_address = address_of(*opened.payload),
                          .payload_key = opened.payload->region->rkey,
                          .board_address = address_of(*opened.board),
                          .board_key = opened.board->region->rkey,
                          .slots = pool->slot_count()};
  opened_.push_back(std::move(opened));
  return access;
}

void RdmaExposure::close_earlier() noexcept {
  if (!opened_.empty()) {
    opened_.erase(opened_.begin(), opened_.end() - 1);
  }
}

}  // namespace framewire
