#include "transport/rdma/memory_window.hpp"

#include <chrono>
#include <exception>
#include <memory>
#include <thread>

#include "base/clock.hpp"
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

struct QueuePairDeleter {
  void operator()(ibv_qp* pair) const noexcept { ibv_destroy_qp(pair); }
};
using TrialPair = std::unique_ptr<ibv_qp, QueuePairDeleter>;

TrialPair make_pair(ibv_pd* protection_domain, ibv_cq* completions) noexcept {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = completions;
  wanted.recv_cq = completions;
  wanted.cap = {.max_send_wr = 2, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  wanted.qp_type = IBV_QPT_RC;
  return TrialPair(ibv_create_qp(protection_domain, &wanted));
}

/// Connects the QP to itself, over the same path as `connected`. It never sends anything.
bool make_ready(ibv_qp* pair, ibv_qp* connected) noexcept {
  ibv_qp_attr way{};
  ibv_qp_init_attr ignored{};
  if (ibv_query_qp(connected, &way, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_AV | IBV_QP_PATH_MTU, &ignored) != 0) {
    return false;
  }
  ibv_qp_attr next{};
  next.qp_state = IBV_QPS_INIT;
  next.pkey_index = way.pkey_index;
  next.port_num = way.port_num;
  next.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  if (ibv_modify_qp(pair, &next, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0) {
    return false;
  }
  next.qp_state = IBV_QPS_RTR;
  next.ah_attr = way.ah_attr;
  next.path_mtu = way.path_mtu;
  next.dest_qp_num = pair->qp_num;
  next.min_rnr_timer = 12;
  if (ibv_modify_qp(pair, &next,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0) {
    return false;
  }
  next.qp_state = IBV_QPS_RTS;
  next.timeout = 14;
  next.retry_cnt = 1;
  return ibv_modify_qp(pair, &next,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                           IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

/// Whether the next completion arrives in time and is a success.
bool completes(ibv_cq* completions) noexcept {
  constexpr auto poll_interval = std::chrono::microseconds(50);
  for (const std::int64_t deadline_ns = monotonic_ns() + bind_timeout_ns; monotonic_ns() < deadline_ns;) {
    ibv_wc completion{};
    const int count = ibv_poll_cq(completions, 1, &completion);
    if (count != 0) {
      return count == 1 && completion.status == IBV_WC_SUCCESS;
    }
    std::this_thread::sleep_for(poll_interval);
  }
  return false;
}

}  // namespace

bool can_bind_window(const ConnectedQueuePair& connection, const MemoryRegion& memory_region) noexcept {
  ibv_qp* const connected = connection.queue_pair();
  const VerbsPtr<ibv_cq> completions(ibv_create_cq(connected->context, 2, nullptr, nullptr, 0));
  if (!completions) {
    return false;
  }
  const TrialPair pair = make_pair(memory_region.protection_domain.get(), completions.get());
  // Destroyed before the QP that it is bound to: Soft-RoCE waits for that.
  const VerbsPtr<ibv_mw> window(ibv_alloc_mw(memory_region.protection_domain.get(), IBV_MW_TYPE_2));
  if (!window || !pair || !make_ready(pair.get(), connected)) {
    return false;
  }
  ibv_send_wr request = bind_request(*window, memory_region);
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(pair.get(), &request, &bad) == 0 && completes(completions.get());
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
