#include "transport/rdma/queue_pair.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/wait.hpp"

namespace framewire {

namespace {

/// 0.64 ms (InfiniBand specification, table 45). rdma_cm sets 0, which means 655 ms.
constexpr std::uint8_t min_rnr_timer = 12;
/// The most receives in one ibv_post_recv().
constexpr std::size_t max_receives_in_post = 64;

constexpr std::uint64_t immediate_message_bytes = sizeof(std::uint32_t);

}  // namespace

RdmaQueuePair::RdmaQueuePair(rdma_cm_id& id, const RdmaOptions& options) : device_(id.verbs) {
  ibv_device_attr attributes{};
  check_call(ibv_query_device(device_, &attributes), "ask the RDMA device what it can do");
  read_limits(id, attributes, options.preferences);
  set_non_blocking(device_->async_fd, true);
  protection_domain_ = options.protection_domain_of(device_);
  channel_ = own(ibv_create_comp_channel(device_), "make an RDMA completion channel");
  set_non_blocking(channel_->fd, true);
  make(id, attributes, options);
  if (!capabilities_.has_immediate && capabilities_.inline_bytes < immediate_message_bytes) {
    throw Error::failed("the RDMA device has neither immediates nor inline data");
  }
  if (options.staging_bytes_per_request != 0) {
    auto block =
        HostBlock::create_private("RDMA staging", capabilities_.send_depth * options.staging_bytes_per_request);
    staging_ = register_memory(protection_domain_, std::move(block), 0);
  }
  notified_[0].queue = send_completions_.get();
  notified_[1].queue = receive_completions_.get();
  if (options.receives_immediates) {
    prepare_immediates();
  }
}

RdmaQueuePair::~RdmaQueuePair() {
  for (const Notified& one : notified_) {
    if (one.unacknowledged > 0) {
      ibv_ack_cq_events(one.queue, one.unacknowledged);  // destroying the queue waits for these acknowledgements
    }
  }
}

void RdmaQueuePair::read_limits(rdma_cm_id& id, const ibv_device_attr& attributes, const RdmaPreferences& preferences) {
  ibv_port_attr port{};
  check_call(ibv_query_port(device_, id.port_num, &port), "ask the RDMA port what it can do");
  capabilities_.chunk_bytes = std::min<std::uint64_t>(port.max_msg_sz, preferences.chunk_bytes);
  capabilities_.has_immediate = preferences.immediates && device_->device->transport_type != IBV_TRANSPORT_IWARP;
  capabilities_.has_windows = preferences.windows && (attributes.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B) != 0;
  if (capabilities_.chunk_bytes == 0) {
    throw Error::failed("the RDMA device takes no messages");
  }
}

void RdmaQueuePair::make(rdma_cm_id& id, const ibv_device_attr& attributes, const RdmaOptions& options) {
  const auto vectors = static_cast<std::uint32_t>(std::max(device_->num_comp_vectors, 1));
  const auto make_queue = [&](std::uint32_t depth) {
    return own(ibv_create_cq(device_, static_cast<int>(depth), &device_events_, channel_.get(),
                             static_cast<int>(options.completion_vector % vectors)),
               "make an RDMA completion queue");
  };
  const auto make_pair = [&](ibv_qp_cap& limits) {
    send_completions_ = make_queue(limits.max_send_wr);
    receive_completions_ = make_queue(limits.max_recv_wr);
    ibv_qp_init_attr wanted{};
    wanted.qp_context = &device_events_;
    wanted.send_cq = send_completions_.get();
    wanted.recv_cq = receive_completions_.get();
    wanted.cap = limits;
    wanted.qp_type = IBV_QPT_RC;
    if (rdma_create_qp(&id, protection_domain_.get(), &wanted) != 0) {
      return false;
    }
    pair_.reset(&id);
    limits = wanted.cap;
    return true;
  };
  const auto granted = negotiate_queue_pair(options.preferences, attributes.max_qp_wr, attributes.max_cqe, make_pair);
  if (!granted) {
    throw Error::from_errno("make an RDMA queue pair", errno);
  }
  capabilities_.send_depth = granted->max_send_wr;
  capabilities_.receive_depth = granted->max_recv_wr;
  capabilities_.inline_bytes = granted->max_inline_data;
}

void RdmaQueuePair::prepare_immediates() {
  if (!capabilities_.has_immediate) {
    auto block = HostBlock::create_private("RDMA messages", capabilities_.receive_depth * immediate_message_bytes);
    immediate_messages_ = register_memory(protection_domain_, std::move(block), IBV_ACCESS_LOCAL_WRITE);
  }
  held_receives_.resize(capabilities_.receive_depth);
  std::iota(held_receives_.begin(), held_receives_.end(), 0U);
  if (!post_held_receives()) {
    throw Error::from_errno("post an RDMA receive", errno);
  }
}

void RdmaQueuePair::shorten_rnr_timeouts() noexcept {
  if (capabilities_.has_immediate) {
    ibv_qp_attr attributes{};
    attributes.min_rnr_timer = min_rnr_timer;
    ibv_modify_qp(get(), &attributes, IBV_QP_MIN_RNR_TIMER);  // a failure only slows down a case that credits prevent
  }
}

// ---- Posting, completions, events ----

/// A receive for an immediate needs no memory.
bool RdmaQueuePair::post_held_receives() noexcept {
  std::array<ibv_recv_wr, max_receives_in_post> requests;
  std::array<ibv_sge, max_receives_in_post> immediate_sges;
  while (!held_receives_.empty()) {
    const std::size_t count = std::min(held_receives_.size(), requests.size());
    const std::size_t first = held_receives_.size() - count;
    for (std::size_t i = 0; i < count; ++i) {
      requests[i] = {};
      requests[i].wr_id = held_receives_[first + i];
      requests[i].next = i + 1 < count ? &requests[i + 1] : nullptr;
      if (immediate_messages_) {
        immediate_sges[i] = {.addr = immediate_messages_->address + requests[i].wr_id * immediate_message_bytes,
                             .length = immediate_message_bytes,
                             .lkey = immediate_messages_->mr->lkey};
        requests[i].sg_list = &immediate_sges[i];
        requests[i].num_sge = 1;
      }
    }
    ibv_recv_wr* bad = nullptr;
    if (const int error_number = ibv_post_recv(get(), requests.data(), &bad); error_number != 0) {
      errno = error_number;
      return false;
    }
    held_receives_.resize(first);
  }
  return true;
}

std::optional<std::uint32_t> RdmaQueuePair::immediate_of(const ibv_wc& completion) const noexcept {
  std::uint32_t bits = 0;
  if (immediate_messages_) {
    if (completion.byte_len != immediate_message_bytes) {
      return std::nullopt;
    }
    std::memcpy(&bits, immediate_messages_->bytes().data() + completion.wr_id * immediate_message_bytes, sizeof bits);
  } else if ((completion.wc_flags & IBV_WC_WITH_IMM) != 0) {
    bits = completion.imm_data;
  } else {
    return std::nullopt;
  }
  return ntohl(bits);
}

bool RdmaQueuePair::request_notification() noexcept {
  for (Notified& one : notified_) {
    if (!one.is_requested) {
      if (ibv_req_notify_cq(one.queue, 0) != 0) {
        return false;
      }
      one.is_requested = true;
    }
  }
  return true;
}

void RdmaQueuePair::take_notifications() noexcept {
  constexpr unsigned acknowledged_at_once = 1024;  // each acknowledgement takes a lock
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (ibv_get_cq_event(channel_.get(), &queue, &context) == 0) {
    Notified& one = notified_[queue == notified_[0].queue ? 0 : 1];
    one.is_requested = false;
    if (++one.unacknowledged == acknowledged_at_once) {
      ibv_ack_cq_events(queue, std::exchange(one.unacknowledged, 0U));
    }
  }
}

}  // namespace framewire
