#include "transport/rdma/memory_window.hpp"

#include <exception>

#include "base/clock.hpp"
#include "transport/rdma/loopback_pair.hpp"
#include "transport/rdma/verbs.hpp"

namespace framewire {

ibv_send_wr bind_request(ibv_mw& window, const MemoryRegion& memory_region) noexcept {
  ibv_send_wr request{};
  request.opcode = IBV_WR_BIND_MW;
  request.send_flags = IBV_SEND_SIGNALED;
  request.bind_mw.mw = &window;
  request.bind_mw.rkey = ibv_inc_rkey(window.rkey);
  request.bind_mw.bind_info = {.mr = memory_region.mr.get(),
                               .addr = memory_region.address,
                               .length = memory_region.mr->length,
                               .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
  return request;
}

// ---- The trial ----

namespace {

constexpr std::int64_t bind_timeout_ns = 2 * ns_per_s;
constexpr std::uint64_t trial_bytes = 4096;

}  // namespace

bool can_bind_window(const ConnectedQueuePair& connection, const MemoryRegion& memory_region) noexcept {
  LoopbackPair pair(memory_region.protection_domain.get(), connection.queue_pair(), LoopbackPair::Path::as_connected);
  // Destroyed before the QP that it is bound to: Soft-RoCE waits for that.
  const VerbsPtr<ibv_mw> window(ibv_alloc_mw(memory_region.protection_domain.get(), IBV_MW_TYPE_2));
  return window != nullptr && pair.is_ready() &&
         pair.complete(bind_request(*window, memory_region), bind_timeout_ns) == IBV_WC_SUCCESS;
}

bool can_bind_windows(const ConnectedQueuePair& connection) noexcept {
  try {
    const auto page =
        register_memory(connection.protection_domain(), HostBlock::create_private("window trial", trial_bytes),
                        static_cast<unsigned>(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND));
    return can_bind_window(connection, *page);
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace framewire
