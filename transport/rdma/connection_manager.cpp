#include "transport/rdma/connection_manager.hpp"

#include <poll.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/file_descriptor.hpp"
#include "base/text.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

/// Retransmissions before the device gives up on the peer. Not 7, the specification's maximum: with 7, Soft-RoCE of
/// Linux 6.1 never gives up.
constexpr std::uint8_t retry_count = 6;
/// 7 means: retry for ever when the peer has posted no receive. Credits prevent that case.
constexpr std::uint8_t rnr_retry_count = 7;
/// The start of the private data of framewire's rejections; the reason follows. It tells them from those of the peer's
/// kernel.
constexpr std::string_view rejection = "FWRJ";
constexpr std::string_view unknown_session = "it knows no such session";
constexpr std::size_t max_reason_bytes = 140;  // rdma_cm leaves 148

// Reasons of a rejection (InfiniBand specification, 12.6.7.2); iWARP has an errno, below zero.
constexpr int no_such_service = 8;
constexpr int rejected_by_program = 28;

void say_rejection(rdma_cm_id* id, const std::string& reason) noexcept {
  std::array<char, rejection.size() + max_reason_bytes> said{};
  std::ranges::copy(rejection, said.begin());
  std::ranges::copy(std::string_view(reason).substr(0, max_reason_bytes), said.begin() + rejection.size());
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
  const std::string message = peer + " rejected the RDMA connection: " + printable(said, max_reason_bytes);
  if (said.starts_with(unknown_session)) {
    throw Error::lost_peer(message);  // it is not this session's peer
  }
  throw RdmaRejected(message);
}

int milliseconds_until(std::int64_t deadline_ns) noexcept {
  return static_cast<int>(std::clamp<std::int64_t>((deadline_ns - monotonic_ns()) / ns_per_ms, 1, 60'000));
}

/// The exponent t of an acknowledgement timeout of 4.096 us * 2^t (InfiniBand specification, 9.7.6.1.3). retry_count
/// retransmissions then take half of `timeout_ns`, because a device may take up to four times its timeout.
std::uint8_t ack_timeout_exponent(std::int64_t timeout_ns) noexcept {
  const auto units = static_cast<std::uint64_t>(timeout_ns / 2 / (retry_count + 1) / 4096);
  return static_cast<std::uint8_t>(std::clamp<int>(static_cast<int>(std::bit_width(units)), 9, 22) - 1);
}

/// Parameters for connecting and for accepting, which ignores retry_count. `said` must outlive them.
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

/// `silence_hint`: a suffix for the error message about a peer that does not answer.
Error error_of(const rdma_cm_event& event, const std::string& peer, const std::string& silence_hint) {
  switch (event.event) {
    case RDMA_CM_EVENT_ADDR_ERROR:
      return Error::lost_peer("no RDMA device here reaches " + peer + reason_text(event.status));
    case RDMA_CM_EVENT_ROUTE_ERROR:
      return Error::lost_peer("there is no RDMA route to " + peer + reason_text(event.status));
    case RDMA_CM_EVENT_REJECTED:
      return error_of_rejection(event, peer);
    case RDMA_CM_EVENT_UNREACHABLE:
      return Error::lost_peer(peer + " does not answer over RDMA" + silence_hint);
    default:
      return Error::lost_peer("the RDMA connection with " + peer + " failed: " + rdma_event_str(event.event) +
                              reason_text(event.status));
  }
}

}  // namespace

RdmaConnectRequest::~RdmaConnectRequest() {
  reject(std::string(unknown_session));
}

bool RdmaConnectRequest::reject(const std::string& reason) noexcept {
  if (id_) {
    say_rejection(id_.get(), reason);
    id_.reset();
    return true;
  }
  return false;
}

RdmaConnectionManager::RdmaConnectionManager(std::string peer, const RdmaOptions& options)
    : peer_(std::move(peer)),
      cancel_fd_(options.cancel_fd),
      peer_timeout_ns_(options.peer_timeout_ns),
      type_of_service_(options.type_of_service),
      events_(own(rdma_create_event_channel(), "open /dev/infiniband/rdma_cm")) {
  set_non_blocking(events_->fd, true);
}

RdmaConnectionManager::~RdmaConnectionManager() {
  disconnect();
}

// ---- Connecting and accepting ----

/// Waits for the next event. Throws when it is not `wanted`.
VerbsPtr<rdma_cm_event> RdmaConnectionManager::await(rdma_cm_event_type wanted, std::int64_t deadline_ns) {
  rdma_cm_event* event = nullptr;
  while (rdma_get_cm_event(events_.get(), &event) != 0) {
    if (errno != EAGAIN && errno != EINTR) {
      throw Error::from_errno("hear of an RDMA connection", errno);
    }
    std::array descriptors{pollfd{.fd = events_->fd, .events = POLLIN, .revents = 0},
                           pollfd{.fd = cancel_fd_, .events = POLLRDHUP, .revents = 0}};
    wait_until(descriptors, deadline_ns);
    if (descriptors[1].revents != 0) {
      throw Error::lost_peer("the session ended while its RDMA connection was made");
    }
    if (descriptors[0].revents == 0 && monotonic_ns() >= deadline_ns) {
      throw Error::lost_peer(peer_ + " did not answer over RDMA in time" + silence_hint());
    }
  }
  VerbsPtr<rdma_cm_event> owned(event);
  if (event->event != wanted) {
    throw error_of(*event, peer_, silence_hint());
  }
  return owned;
}

/// A suffix for "does not answer": this side's port is not active, or else the most frequent cause.
std::string RdmaConnectionManager::silence_hint() const {
  const std::string trouble = id_->verbs != nullptr ? port_trouble() : "";
  return trouble.empty() ? "; does a firewall let UDP port 4791 (RoCE v2) through?" : trouble;
}

void RdmaConnectionManager::resolve(const sockaddr& to, std::int64_t deadline_ns) {
  id_ = own(make_id(events_.get()).release(), "make an RDMA connection");
  set_type_of_service();  // before the route is resolved, which includes it
  // The library does not change the address, although the parameter is not const.
  if (rdma_resolve_addr(id_.get(), nullptr, const_cast<sockaddr*>(&to), milliseconds_until(deadline_ns)) != 0) {
    throw Error::lost_peer("no RDMA device here reaches " + peer_ + ": " + errno_text(errno));
  }
  await(RDMA_CM_EVENT_ADDR_RESOLVED, deadline_ns);
  if (rdma_resolve_route(id_.get(), milliseconds_until(deadline_ns)) != 0) {
    throw Error::lost_peer("there is no RDMA route to " + peer_ + ": " + errno_text(errno));
  }
  await(RDMA_CM_EVENT_ROUTE_RESOLVED, deadline_ns);
}

VerbsPtr<rdma_cm_event> RdmaConnectionManager::connect(const RdmaPrivateData& hello, std::int64_t deadline_ns) {
  set_ack_timeout();
  rdma_conn_param parameters = parameters_with(hello);
  check_call(rdma_connect(id_.get(), &parameters), "connect to " + peer_ + " over RDMA");
  return await(RDMA_CM_EVENT_ESTABLISHED, deadline_ns);
}

void RdmaConnectionManager::take(RdmaConnectRequest& request) {
  check_call(rdma_migrate_id(request.id_.get(), events_.get()), "take an RDMA connection");
  id_ = std::move(request.id_);
  set_type_of_service();
}

void RdmaConnectionManager::accept(const RdmaPrivateData& answer) {
  set_ack_timeout();
  rdma_conn_param parameters = parameters_with(answer);
  check_call(rdma_accept(id_.get(), &parameters), "accept an RDMA connection");
}

void RdmaConnectionManager::await_established(std::int64_t deadline_ns) {
  await(RDMA_CM_EVENT_ESTABLISHED, deadline_ns);
}

void RdmaConnectionManager::reject(const std::string& reason) noexcept {
  say_rejection(id_.get(), reason);
}

/// Call it before the QP is set up: the timeout cannot change later. A kernel before 5.8 does not know the option and
/// uses its own value.
void RdmaConnectionManager::set_ack_timeout() noexcept {
  std::uint8_t exponent = ack_timeout_exponent(peer_timeout_ns_);
  rdma_set_option(id_.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &exponent, sizeof exponent);
}

void RdmaConnectionManager::set_type_of_service() {
  if (type_of_service_) {
    std::uint8_t value = *type_of_service_;
    check_call(rdma_set_option(id_.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &value, sizeof value),
               "give an RDMA connection the type of service " + std::to_string(value));
  }
}

// ---- An established connection ----

std::string RdmaConnectionManager::port_trouble() const {
  ibv_port_attr port{};
  if (ibv_query_port(id_->verbs, id_->port_num, &port) != 0 || port.state == IBV_PORT_ACTIVE) {
    return {};
  }
  return "; port " + std::to_string(id_->port_num) + " of " + ibv_get_device_name(id_->verbs->device) + " here is " +
         (port.state == IBV_PORT_DOWN ? "down" : "not active");
}

std::optional<std::string> RdmaConnectionManager::take_end() noexcept {
  rdma_cm_event* event = nullptr;
  while (rdma_get_cm_event(events_.get(), &event) == 0) {
    const VerbsPtr<rdma_cm_event> owned(event);
    if (event->event == RDMA_CM_EVENT_DISCONNECTED) {
      return "closed its RDMA connection";
    }
    if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL) {
      return "is out of reach: the RDMA device here was removed";
    }
  }
  return std::nullopt;
}

void RdmaConnectionManager::disconnect() noexcept {
  if (id_ && !is_disconnected_.exchange(true)) {
    rdma_disconnect(id_.get());
  }
}

}  // namespace framewire
