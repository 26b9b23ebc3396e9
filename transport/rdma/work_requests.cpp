#include "transport/rdma/work_requests.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <numeric>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "transport/rdma/device_memory.hpp"
#include "transport/rdma/verbs.hpp"

namespace framewire {

// ---- Registered memory ----

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

/// Null with errno.
ibv_mr* register_at(ibv_pd* protection_domain, const RegisteredAs& as, std::uint64_t size_bytes, unsigned access) {
  if (as.address == reinterpret_cast<std::uint64_t>(as.pinned)) {
    return ibv_reg_mr(protection_domain, as.pinned, size_bytes, access);
  }
  return ibv_reg_mr_iova(protection_domain, as.pinned, size_bytes, as.address, access);
}

}  // namespace

std::shared_ptr<ibv_pd> allocate_protection_domain(ibv_context* device) {
  return {own(ibv_alloc_pd(device), "make an RDMA protection domain")};
}

std::shared_ptr<const MemoryRegion> register_memory(const std::shared_ptr<ibv_pd>& protection_domain,
                                                    std::shared_ptr<const Block> block, unsigned access,
                                                    const ClosedWays& closed_ways) {
  const std::uint64_t size_bytes = block->size_bytes();
  const RegisteredAs as = block->registered_as();
  if (!as.device.empty()) {
    DeviceRegistration registration = register_device_memory(*protection_domain, as, size_bytes, access, closed_ways);
    return std::make_shared<const MemoryRegion>(MemoryRegion{.protection_domain = protection_domain,
                                                             .block = std::move(block),
                                                             .mr = std::move(registration.mr),
                                                             .address = as.address,
                                                             .reached = std::move(registration.reached),
                                                             .access = std::move(registration.access),
                                                             .needs_read_back = registration.needs_read_back});
  }
  ibv_mr* mr = register_at(protection_domain.get(), as, size_bytes, access);
  if (const unsigned needed = access & ~unsigned{IBV_ACCESS_OPTIONAL_RANGE};
      mr == nullptr && errno != ENOMEM && needed != access) {
    mr = register_at(protection_domain.get(), as, size_bytes, needed);
  }
  if (mr == nullptr) {
    throw no_registration(size_bytes, errno);
  }
  return std::make_shared<const MemoryRegion>(MemoryRegion{.protection_domain = protection_domain,
                                                           .block = std::move(block),
                                                           .mr = VerbsPtr<ibv_mr>(mr),
                                                           .address = as.address});
}

// ---- The send queue ----

namespace {

/// Longer than the device may take, so that the device's own error, which says more, comes first.
constexpr std::int64_t timeouts = 3;
constexpr std::int64_t min_timeout_ns = 5 * ns_per_s;

/// The slowest wire that counts as progress: 1 MB/s, a tenth of Soft-RoCE between two emulated machines.
constexpr std::int64_t ns_per_byte = 1000;

std::uint64_t payload_bytes(const ibv_send_wr& request) noexcept {
  const std::span parts(request.sg_list, static_cast<std::size_t>(request.num_sge));
  return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const ibv_sge& part) { return sum + part.length; });
}

}  // namespace

StallDetector::StallDetector(std::int64_t peer_timeout_ns) noexcept
    : timeout_ns_(std::max(timeouts * peer_timeout_ns, min_timeout_ns)) {}

bool StallDetector::is_stalled(std::int64_t now_ns, std::uint64_t completed, bool awaits,
                               std::uint64_t awaited_bytes) noexcept {
  if (completed != completed_ || !awaits || progress_ns_ == 0) {
    completed_ = completed;
    progress_ns_ = now_ns;
  }
  return now_ns - progress_ns_ > timeout_ns_ + static_cast<std::int64_t>(awaited_bytes) * ns_per_byte;
}

SendQueue::SendQueue(const ConnectedQueuePair& connection)
    : queue_pair_(connection.queue_pair()),
      completions_(connection.send_completions()),
      depth_(connection.capabilities().send_depth),
      stall_(connection.peer_timeout_ns()),
      signalled_(depth_) {}

bool SendQueue::post(std::span<ibv_send_wr> requests) noexcept {
  assert(requests.size() <= room());
  const std::uint32_t half = depth_ / 2;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    ibv_send_wr& request = requests[i];
    request.next = i + 1 < requests.size() ? &requests[i + 1] : nullptr;
    request.wr_id = ++posted_;
    posted_bytes_ += payload_bytes(request);
    if (posted_ - last_signalled_ >= half) {
      request.send_flags |= IBV_SEND_SIGNALED;
    }
    if ((request.send_flags & IBV_SEND_SIGNALED) != 0) {
      last_signalled_ = posted_;
      signalled_.push({.end = posted_, .bytes_before = posted_bytes_});
    }
  }
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(queue_pair_, requests.data(), &bad) == 0;
}

bool SendQueue::post_probe() noexcept {
  if (awaits_completion() || room() == 0) {
    return true;
  }
  std::array<ibv_send_wr, 1> request{};
  request[0].opcode = IBV_WR_RDMA_WRITE;
  request[0].send_flags = IBV_SEND_SIGNALED;
  return post(request);
}

std::optional<ibv_wc_status> SendQueue::poll() noexcept {
  std::optional<ibv_wc_status> fault;
  std::array<ibv_wc, 16> completions;
  for (;;) {
    const int count = ibv_poll_cq(completions_, completions.size(), completions.data());
    for (int i = 0; i < count; ++i) {
      const ibv_wc& completion = completions[static_cast<std::size_t>(i)];
      if (completion.status == IBV_WC_SUCCESS) {
        take_completed(completion.wr_id);
      } else if (!fault || *fault == IBV_WC_WR_FLUSH_ERR) {
        fault = completion.status;
      }
    }
    if (count < static_cast<int>(completions.size())) {
      return fault;
    }
  }
}

void SendQueue::take_completed(std::uint64_t number) noexcept {
  completed_ = number;
  while (awaits_completion() && signalled_.front().end <= completed_) {
    completed_bytes_ = signalled_.pop().bytes_before;
  }
}

// ---- The words for what fails ----

std::string describe_stall(const std::string& peer) {
  return peer + " does not answer, nor does the RDMA device say so";
}

std::string describe_fault(ibv_wc_status status, const std::string& peer) {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
      return peer + "'s RDMA device does not answer";
    case IBV_WC_REM_ACCESS_ERR:
      return peer + " does not allow what was written or read (remote access error)";
    case IBV_WC_WR_FLUSH_ERR:
      return peer + "'s RDMA connection has ended";
    default:
      return "the RDMA connection with " + peer + " failed: " + ibv_wc_status_str(status);
  }
}

}  // namespace framewire
