#include "transport/rdma/domain.hpp"

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
                       " in all, with what it has registered already; raise that by 'ulimit -l unlimited', for good by "
                       "a file in /etc/security/limits.d with '* - "
                       "memlock unlimited', or take fewer slots, or smaller ones");
}

}  // namespace

std::shared_ptr<const Registration> register_block(const std::shared_ptr<ibv_pd>& domain,
                                                   std::shared_ptr<const HostBlock> block, unsigned access) {
  const std::span<std::byte> bytes = block->bytes();
  ibv_mr* region = ibv_reg_mr(domain.get(), bytes.data(), bytes.size(), access);
  if (const unsigned needed = access & ~unsigned{IBV_ACCESS_OPTIONAL_RANGE};
      region == nullptr && errno != ENOMEM && needed != access) {
    region = ibv_reg_mr(domain.get(), bytes.data(), bytes.size(), needed);
  }
  if (region == nullptr) {
    throw no_registration(bytes.size(), errno);
  }
  return std::make_shared<const Registration>(
      Registration{.domain = domain, .block = std::move(block), .region = Verbs<ibv_mr>(region)});
}

ibv_send_wr bind_request(ibv_mw& window, const Registration& registration) noexcept {
  ibv_send_wr request{};
  request.opcode = IBV_WR_BIND_MW;
  request.send_flags = IBV_SEND_SIGNALED;
  request.bind_mw.mw = &window;
  request.bind_mw.rkey = ibv_inc_rkey(window.rkey);
  request.bind_mw.bind_info = {.mr = registration.region.get(),
                               .addr = reinterpret_cast<std::uint64_t>(registration.region->addr),
                               .length = registration.region->length,
                               .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
  return request;
}

std::shared_ptr<ibv_pd> make_domain(ibv_context* device) {
  return {own(ibv_alloc_pd(device), "make an RDMA protection domain")};
}

std::shared_ptr<ibv_pd> SenderDomains::domain_of(ibv_context* device) {
  const std::scoped_lock lock(mutex_);
  std::weak_ptr<ibv_pd>& place = domains_[device];
  std::shared_ptr<ibv_pd> domain = place.lock();
  if (!domain) {
    domain = make_domain(device);
    place = domain;
  }
  return domain;
}

std::shared_ptr<const Registration> SenderDomains::registration_of(const std::shared_ptr<ibv_pd>& domain,
                                                                   const std::shared_ptr<HostBlock>& block) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(registrations_, [](const auto& one) { return one.expired(); });
  for (const auto& weak : registrations_) {
    if (auto known = weak.lock(); known && known->domain == domain && known->block == block) {
      return known;
    }
  }
  // No access beyond reading, not even for the device itself.
  constexpr auto by_viewers = static_cast<unsigned>(IBV_ACCESS_REMOTE_READ);
  auto registration = register_block(domain, block, readers_ == PoolReaders::viewers ? by_viewers : 0U);
  registrations_.push_back(registration);
  return registration;
}

}  // namespace framewire
