#include "transport/rdma/loopback_pair.hpp"

#include <chrono>
#include <thread>

#include "base/clock.hpp"

namespace framewire {

namespace {

/// Makes the port itself the destination, by its own GID or LID.
bool lead_back(ibv_context* device, std::uint8_t port_number, ibv_ah_attr& way) noexcept {
  ibv_port_attr port{};
  if (ibv_query_port(device, port_number, &port) != 0) {
    return false;
  }
  way.dlid = static_cast<std::uint16_t>(port.lid | way.src_path_bits);
  return way.is_global == 0 || ibv_query_gid(device, port_number, way.grh.sgid_index, &way.grh.dgid) == 0;
}

}  // namespace

LoopbackPair::LoopbackPair(ibv_pd* protection_domain, ibv_qp* connected, Path path, ibv_comp_channel* channel) noexcept
    : completions_(ibv_create_cq(connected->context, 2, nullptr, channel, 0)) {
  if (!completions_) {
    return;
  }
  ibv_qp_init_attr wanted{};
  wanted.send_cq = completions_.get();
  wanted.recv_cq = completions_.get();
  wanted.cap = {.max_send_wr = 2, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  wanted.qp_type = IBV_QPT_RC;
  pair_.reset(ibv_create_qp(protection_domain, &wanted));
  is_ready_ = pair_ != nullptr && connect(connected, path);
}

bool LoopbackPair::connect(ibv_qp* connected, Path path) noexcept {
  ibv_qp_attr way{};
  ibv_qp_init_attr ignored{};
  if (ibv_query_qp(connected, &way, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_AV | IBV_QP_PATH_MTU, &ignored) != 0 ||
      (path == Path::to_itself && !lead_back(connected->context, way.port_num, way.ah_attr))) {
    return false;
  }
  ibv_qp_attr next{};
  next.qp_state = IBV_QPS_INIT;
  next.pkey_index = way.pkey_index;
  next.port_num = way.port_num;
  next.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  if (ibv_modify_qp(pair_.get(), &next, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0) {
    return false;
  }
  next.qp_state = IBV_QPS_RTR;
  next.ah_attr = way.ah_attr;
  next.path_mtu = way.path_mtu;
  next.dest_qp_num = pair_->qp_num;
  next.min_rnr_timer = 12;
  next.max_dest_rd_atomic = 1;
  if (ibv_modify_qp(pair_.get(), &next,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0) {
    return false;
  }
  next.qp_state = IBV_QPS_RTS;
  next.timeout = 14;
  next.retry_cnt = 7;  // with the timeout of 67 ms about as long as its users wait
  next.max_rd_atomic = 1;
  return ibv_modify_qp(pair_.get(), &next,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                           IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

bool LoopbackPair::post(ibv_send_wr request) noexcept {
  ibv_send_wr* bad = nullptr;
  return is_ready_ && ibv_post_send(pair_.get(), &request, &bad) == 0;
}

std::optional<ibv_wc_status> LoopbackPair::poll() noexcept {
  ibv_wc completion{};
  const int count = ibv_poll_cq(completions_.get(), 1, &completion);
  if (count == 0) {
    return std::nullopt;
  }
  return count == 1 ? completion.status : IBV_WC_GENERAL_ERR;
}

std::optional<ibv_wc_status> LoopbackPair::complete(ibv_send_wr request, std::int64_t timeout_ns,
                                                    const StopCheck& stop) {
  constexpr auto poll_interval = std::chrono::microseconds(50);
  if (!post(request)) {
    return IBV_WC_GENERAL_ERR;
  }
  const std::int64_t deadline_ns = monotonic_ns() + timeout_ns;
  for (bool is_late = false;; std::this_thread::sleep_for(poll_interval)) {
    const bool is_last_look = is_late;  // this thread may have been stopped meanwhile
    is_late = monotonic_ns() >= deadline_ns;
    if (const auto status = poll()) {
      return status;
    }
    if (is_last_look || (stop && stop())) {
      return std::nullopt;
    }
  }
}

}  // namespace framewire
