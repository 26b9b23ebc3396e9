#include "transport/rdma/connection.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/clock.hpp"
#include "base/file_descriptor.hpp"
#include "base/text.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

/// How often a device sends again before it gives the peer up. Not 7, which the specification allows as well: Soft-RoCE
/// of Linux 6.1 then never gives up.
constexpr std::uint8_t retry_count = 6;
/// A peer that has posted no receive is asked again for ever. Credits see to it that this does not happen.
constexpr std::uint8_t rnr_retry_count = 7;
/// 0.64 ms (InfiniBand specification, table 45). rdma_cm leaves 0, which means 655 ms.
constexpr std::uint8_t min_rnr_timer = 12;

/// Receives that are posted in one call.
constexpr std::size_t most_receives_in_post = 64;

constexpr std::uint64_t notice_bytes = sizeof(std::uint32_t);

/// How a rejection by framewire begins, so that it is not taken for one by the other side's kernel; its reason follows.
constexpr std::string_view rejection = "FWRJ";
constexpr std::size_t most_reason_bytes = 140;  // rdma_cm leaves 148

// Reasons of a rejection (InfiniBand specification, 12.6.7.2); iWARP has an errno, below zero.
constexpr int no_such_service = 8;
constexpr int rejected_by_program = 28;

void reject(rdma_cm_id* id, const std::string& reason) noexcept {
  std::array<char, rejection.size() + most_reason_bytes> said{};
  std::ranges::copy(rejection, said.begin());
  std::ranges::copy(std::string_view(reason).substr(0, most_reason_bytes), said.begin() + rejection.size());
  rdma_reject(id, said.data(), static_cast<std::uint8_t>(said.size()));
}

std::string reason_text(int status) {
  return status < 0 ? ": " + errno_text(-status) : std::string();
}

Error error_of_rejection(const rdma_cm_event& event, const std::string& peer) {
  const auto& parameters = event.param.conn;
  std::string_view said;
  if (parameters.private_data != nullptr) {
    said = {static_cast<const char*>(parameters.private_data), parameters.private_data_len};
  }
  if (!said.starts_with(rejection)) {
    if (event.status == no_such_service || event.status == -ECONNREFUSED) {
      return Error::lost_peer("nobody takes RDMA connections at " + peer);
    }
    if (event.status == rejected_by_program) {
      return Error::lost_peer(
          peer + " did not take the RDMA connection: what listens there is no framewire, or has just ended");
    }
    return Error::lost_peer(peer + " rejected the RDMA connection" +
                            (event.status < 0 ? reason_text(event.status)
                                              : ", for reason " + std::to_string(event.status) +
                                                    " of the InfiniBand specification (12.6.7.2)"));
  }
  said = said.substr(rejection.size());
  said = said.substr(0, std::min(said.find('\0'), said.size()));
  return Error::lost_peer(peer + " rejected the RDMA connection: " + printable(said, most_reason_bytes));
}

int milliseconds_until(std::int64_t deadline_ns) noexcept {
  return static_cast<int>(std::clamp<std::int64_t>((deadline_ns - monotonic_ns()) / ns_per_ms, 1, 60'000));
}

/// The exponent t of an acknowledgement timeout of 4.096 us * 2^t (InfiniBand specification, 9.7.6.1.3) with which
/// retry_count repetitions take half of `timeout_ns`: a device may take up to four times as long as it says.
std::uint8_t ack_timeout_exponent(std::int64_t timeout_ns) noexcept {
  const auto units = static_cast<std::uint64_t>(timeout_ns / 2 / (retry_count + 1) / 4096);
  return static_cast<std::uint8_t>(std::clamp<int>(static_cast<int>(std::bit_width(units)), 9, 22) - 1);
}

/// For connecting and for accepting, which passes over retry_count. `said` outlives them.
rdma_conn_param parameters_with(const RdmaPrivateData& said) noexcept {
  rdma_conn_param parameters{};
  parameters.private_data = said.data();
  parameters.private_data_len = rdma_private_bytes;
  parameters.responder_resources = RDMA_MAX_RESP_RES;
  parameters.initiator_depth = RDMA_MAX_INIT_DEPTH;
  parameters.retry_count = retry_count;
  parameters.rnr_retry_count = rnr_retry_count;
  return parameters;
}

/// `why_silent`: the end of a sentence about a peer that does not answer.
Error error_of(const rdma_cm_event& event, const std::string& peer, const std::string& why_silent) {
  switch (event.event) {
    case RDMA_CM_EVENT_ADDR_ERROR:
      return Error::lost_peer("no RDMA device here reaches " + peer + reason_text(event.status));
    case RDMA_CM_EVENT_ROUTE_ERROR:
      return Error::lost_peer("there is no RDMA route to " + peer + reason_text(event.status));
    case RDMA_CM_EVENT_REJECTED:
      return error_of_rejection(event, peer);
    case RDMA_CM_EVENT_UNREACHABLE:
      return Error::lost_peer(peer + " does not answer over RDMA" + why_silent);
    default:
      return Error::lost_peer("the RDMA connection with " + peer + " failed: " + rdma_event_str(event.event) +
                              reason_text(event.status));
  }
}

}  // namespace

RdmaRequest::~RdmaRequest() {
  if (id_) {
    reject(id_.get(), "it knows no such session");
  }
}

RdmaConnection::RdmaConnection(RdmaOptions options)
    : options_(std::move(options)), events_(own(rdma_create_event_channel(), "open /dev/infiniband/rdma_cm")) {
  set_non_blocking(events_->fd, true);
}

std::unique_ptr<RdmaConnection> RdmaConnection::dial(
    const sockaddr& to, const std::string& name, const RdmaPrivateData& hello,
    const std::function<void(std::span<const std::byte>)>& check_answer, const RdmaOptions& options,
    std::int64_t deadline_ns) {
  std::unique_ptr<RdmaConnection> connection(new RdmaConnection(options));
  connection->peer_ = name;
  connection->is_dialler_ = true;
  connection->id_ = own(make_id(connection->events_.get()).release(), "make an RDMA connection");
  connection->resolve(to, deadline_ns);
  connection->make_queue_pair();
  rdma_conn_param parameters = parameters_with(hello);
  check_call(rdma_connect(connection->id_.get(), &parameters), "connect to " + name + " over RDMA");
  const auto event = connection->await(RDMA_CM_EVENT_ESTABLISHED, deadline_ns);
  const auto* answer = static_cast<const std::byte*>(event->param.conn.private_data);
  check_answer({answer, answer == nullptr ? std::size_t{0} : event->param.conn.private_data_len});
  connection->shorten_waits_for_the_unready();
  return connection;
}

std::unique_ptr<RdmaConnection> RdmaConnection::accept(RdmaRequest request, const RdmaOptions& options,
                                                       std::int64_t deadline_ns) {
  std::unique_ptr<RdmaConnection> connection;
  try {
    connection.reset(new RdmaConnection(options));
    connection->peer_ = "the peer";
    check_call(rdma_migrate_id(request.id_.get(), connection->events_.get()), "take an RDMA connection");
    connection->id_ = std::move(request.id_);
    connection->make_queue_pair();
    rdma_conn_param parameters = parameters_with(request.answer_);
    check_call(rdma_accept(connection->id_.get(), &parameters), "accept an RDMA connection");
  } catch (const Error& error) {
    reject((request.id_ ? request.id_ : connection->id_).get(), error.what());
    request.id_.reset();  // or it would be rejected once more, with another reason
    throw;
  }
  connection->await(RDMA_CM_EVENT_ESTABLISHED, deadline_ns);
  connection->shorten_waits_for_the_unready();
  return connection;
}

RdmaConnection::~RdmaConnection() {
  if (!id_) {
    return;
  }
  disconnect();
  for (const Notified& one : notified_) {
    if (one.unacknowledged > 0) {
      ibv_ack_cq_events(one.queue, one.unacknowledged);  // destroying the queue waits for them
    }
  }
  // The id last: with it the library may close the device that the others belong to.
  if (id_->qp != nullptr) {
    rdma_destroy_qp(id_.get());
  }
}

// ---- Coming about ----

/// The next event, which has to be `wanted`.
Verbs<rdma_cm_event> RdmaConnection::await(rdma_cm_event_type wanted, std::int64_t deadline_ns) {
  rdma_cm_event* event = nullptr;
  while (rdma_get_cm_event(events_.get(), &event) != 0) {
    if (errno != EAGAIN && errno != EINTR) {
      throw Error::from_errno("hear of an RDMA connection", errno);
    }
    std::array descriptors{pollfd{.fd = events_->fd, .events = POLLIN, .revents = 0},
                           pollfd{.fd = options_.lifeline, .events = POLLRDHUP, .revents = 0}};
    wait_until(descriptors, deadline_ns);
    if (descriptors[1].revents != 0) {
      throw Error::lost_peer("the session ended while its RDMA connection was made");
    }
    if (descriptors[0].revents == 0 && monotonic_ns() >= deadline_ns) {
      throw Error::lost_peer(peer_ + " did not answer over RDMA in time" + why_silent());
    }
  }
  Verbs<rdma_cm_event> owned(event);
  if (event->event != wanted) {
    throw error_of(*event, peer_, why_silent());
  }
  return owned;
}

/// What may be in the way: this end's own port, or else what most often is.
std::string RdmaConnection::why_silent() const {
  const std::string trouble = id_->verbs != nullptr ? port_trouble() : "";
  return trouble.empty() ? "; does a firewall let UDP port 4791 (RoCE v2) through?" : trouble;
}

void RdmaConnection::resolve(const sockaddr& to, std::int64_t deadline_ns) {
  // The library takes a pointer to what it does not change.
  if (rdma_resolve_addr(id_.get(), nullptr, const_cast<sockaddr*>(&to), milliseconds_until(deadline_ns)) != 0) {
    throw Error::lost_peer("no RDMA device here reaches " + peer_ + ": " + errno_text(errno));
  }
  await(RDMA_CM_EVENT_ADDR_RESOLVED, deadline_ns);
  if (rdma_resolve_route(id_.get(), milliseconds_until(deadline_ns)) != 0) {
    throw Error::lost_peer("there is no RDMA route to " + peer_ + ": " + errno_text(errno));
  }
  await(RDMA_CM_EVENT_ROUTE_RESOLVED, deadline_ns);
}

void RdmaConnection::make_queue_pair() {
  ibv_device_attr attributes{};
  check_call(ibv_query_device(id_->verbs, &attributes), "ask the RDMA device what it can do");
  ibv_port_attr port{};
  check_call(ibv_query_port(id_->verbs, id_->port_num, &port), "ask the RDMA port what it can do");
  grants_.chunk_bytes = std::min<std::uint64_t>(port.max_msg_sz, options_.wishes.chunk_bytes);
  grants_.has_immediate = options_.wishes.immediates && id_->verbs->device->transport_type != IBV_TRANSPORT_IWARP;
  grants_.has_windows = options_.wishes.windows && (attributes.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B) != 0;
  if (grants_.chunk_bytes == 0) {
    throw Error::failed("the RDMA device takes no messages");
  }
  set_non_blocking(id_->verbs->async_fd, true);
  domain_ = options_.domain_of(id_->verbs);
  channel_ = own(ibv_create_comp_channel(id_->verbs), "make an RDMA completion channel");
  set_non_blocking(channel_->fd, true);
  make_queues(attributes);
  if (!grants_.has_immediate && grants_.inline_bytes < notice_bytes) {
    throw Error::failed("the RDMA device has neither immediates nor inline data");
  }
  if (options_.staging_bytes_per_request != 0) {
    auto block = HostBlock::create_private("RDMA staging", grants_.send_depth * options_.staging_bytes_per_request);
    staging_ = register_block(domain_, std::move(block), 0);
  }
  notified_[0].queue = send_completions_.get();
  notified_[1].queue = receive_completions_.get();
  if (options_.receives_immediates) {
    prepare_immediates();
  }
  set_ack_timeout();
}

void RdmaConnection::prepare_immediates() {
  if (!grants_.has_immediate) {
    auto block = HostBlock::create_private("RDMA notices", grants_.receive_depth * notice_bytes);
    notices_ = register_block(domain_, std::move(block), IBV_ACCESS_LOCAL_WRITE);
  }
  held_receives_.resize(grants_.receive_depth);
  std::iota(held_receives_.begin(), held_receives_.end(), 0U);
  if (!post_held_receives()) {
    throw Error::from_errno("post an RDMA receive", errno);
  }
}

/// As deep as the device allows, and with as much inline data: some refuse the one because of the other.
void RdmaConnection::make_queues(const ibv_device_attr& attributes) {
  const auto device_depth = static_cast<std::uint32_t>(std::max(std::min(attributes.max_qp_wr, attributes.max_cqe), 1));
  std::uint32_t depth = std::min(options_.wishes.queue_depth, device_depth);
  std::uint32_t inline_wanted = options_.wishes.inline_bytes;
  const auto vectors = static_cast<std::uint32_t>(std::max(id_->verbs->num_comp_vectors, 1));
  const auto make_queue = [&](std::uint32_t entries) {
    return own(ibv_create_cq(id_->verbs, static_cast<int>(entries), &device_events_, channel_.get(),
                             static_cast<int>(options_.completion_vector % vectors)),
               "make an RDMA completion queue");
  };
  for (;;) {
    send_completions_ = make_queue(depth);
    receive_completions_ = make_queue(depth);
    ibv_qp_init_attr wanted{};
    wanted.qp_context = &device_events_;
    wanted.send_cq = send_completions_.get();
    wanted.recv_cq = receive_completions_.get();
    wanted.cap = {.max_send_wr = depth,
                  .max_recv_wr = depth,
                  .max_send_sge = 1,
                  .max_recv_sge = 1,
                  .max_inline_data = inline_wanted};
    wanted.qp_type = IBV_QPT_RC;
    if (rdma_create_qp(id_.get(), domain_.get(), &wanted) == 0) {
      // A device may give more than was asked for, but the completion queues were made for this.
      grants_.send_depth = std::min(wanted.cap.max_send_wr, depth);
      grants_.receive_depth = std::min(wanted.cap.max_recv_wr, depth);
      grants_.inline_bytes = wanted.cap.max_inline_data;
      return;
    }
    if (inline_wanted > 0) {
      inline_wanted /= 2;
    } else if (depth > 16) {
      depth /= 2;
      inline_wanted = options_.wishes.inline_bytes;
    } else {
      throw Error::from_errno("make an RDMA queue pair", errno);
    }
  }
}

/// An immediate needs no memory, only a receive that it can complete.
bool RdmaConnection::post_held_receives() noexcept {
  std::array<ibv_recv_wr, most_receives_in_post> requests;
  std::array<ibv_sge, most_receives_in_post> notices;
  while (!held_receives_.empty()) {
    const std::size_t count = std::min(held_receives_.size(), requests.size());
    const std::size_t first = held_receives_.size() - count;
    for (std::size_t i = 0; i < count; ++i) {
      requests[i] = {};
      requests[i].wr_id = held_receives_[first + i];
      requests[i].next = i + 1 < count ? &requests[i + 1] : nullptr;
      if (notices_) {
        notices[i] = {
            .addr = reinterpret_cast<std::uint64_t>(notices_->region->addr) + requests[i].wr_id * notice_bytes,
            .length = notice_bytes,
            .lkey = notices_->region->lkey};
        requests[i].sg_list = &notices[i];
        requests[i].num_sge = 1;
      }
    }
    ibv_recv_wr* bad = nullptr;
    if (const int error_number = ibv_post_recv(id_->qp, requests.data(), &bad); error_number != 0) {
      errno = error_number;
      return false;
    }
    held_receives_.resize(first);
  }
  return true;
}

/// It cannot be changed once the queue pair is up, so it is said now. A kernel before 5.8 knows no such option and
/// takes its own value.
void RdmaConnection::set_ack_timeout() noexcept {
  std::uint8_t exponent = ack_timeout_exponent(options_.peer_timeout_ns);
  rdma_set_option(id_.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &exponent, sizeof exponent);
}

void RdmaConnection::shorten_waits_for_the_unready() noexcept {
  if (grants_.has_immediate) {
    ibv_qp_attr attributes{};
    attributes.min_rnr_timer = min_rnr_timer;
    ibv_modify_qp(id_->qp, &attributes, IBV_QP_MIN_RNR_TIMER);  // refused: only slower in a case that credits prevent
  }
}

// ---- While it lasts ----

std::optional<std::uint32_t> RdmaConnection::immediate_of(const ibv_wc& completion) const noexcept {
  std::uint32_t bits = 0;
  if (notices_) {
    if (completion.byte_len != notice_bytes) {
      return std::nullopt;
    }
    std::memcpy(&bits, notices_->block->bytes().data() + completion.wr_id * notice_bytes, sizeof bits);
  } else if ((completion.wc_flags & IBV_WC_WITH_IMM) != 0) {
    bits = completion.imm_data;
  } else {
    return std::nullopt;
  }
  return ntohl(bits);
}

bool RdmaConnection::request_notification() noexcept {
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

void RdmaConnection::take_notifications() noexcept {
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

std::string RdmaConnection::port_trouble() const {
  ibv_port_attr port{};
  if (ibv_query_port(id_->verbs, id_->port_num, &port) != 0 || port.state == IBV_PORT_ACTIVE) {
    return {};
  }
  return "; port " + std::to_string(id_->port_num) + " of " + ibv_get_device_name(id_->verbs->device) + " here is " +
         (port.state == IBV_PORT_DOWN ? "down" : "not active");
}

std::optional<std::string> RdmaConnection::take_end() noexcept {
  rdma_cm_event* event = nullptr;
  while (rdma_get_cm_event(events_.get(), &event) == 0) {
    const Verbs<rdma_cm_event> owned(event);
    if (event->event == RDMA_CM_EVENT_DISCONNECTED) {
      return "closed its RDMA connection";
    }
    if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL) {
      return "is out of reach: the RDMA device here was removed";
    }
  }
  return std::nullopt;
}

void RdmaConnection::disconnect() noexcept {
  if (!is_disconnected_.exchange(true)) {
    rdma_disconnect(id_.get());
  }
}

}  // namespace framewire
