#include "transport/rdma/listener.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <utility>

#include "base/wait.hpp"
#include "transport/rdma/addresses.hpp"

namespace framewire {

namespace {

constexpr int backlog = 128;
constexpr int max_ports = 3;  // in addition to the requested one

/// Whether another program has the port. On the wildcard address rdma_cm reports this as EADDRNOTAVAIL. Over iWARP the
/// ports are those of TCP, where the control channel already has this one.
bool is_taken(int error_number) noexcept {
  return error_number == EADDRINUSE || error_number == EADDRNOTAVAIL;
}

void set_port(sockaddr_storage& address, std::uint16_t port) noexcept {
  // sin_port and sin6_port have the same offset.
  reinterpret_cast<sockaddr_in*>(&address)->sin_port = htons(port);
}

}  // namespace

RdmaListener::RdmaListener(std::span<const sockaddr_storage> addresses, std::uint16_t port, OnRequest on_request)
    : on_request_(std::move(on_request)),
      events_(own(rdma_create_event_channel(), "open /dev/infiniband/rdma_cm")),
      port_(port),
      stop_event_(make_eventfd()) {
  set_non_blocking(events_->fd, true);
  // IPv6 first: its wildcard also accepts IPv4, but not if the IPv4 wildcard is bound already.
  std::vector<sockaddr_storage> sorted(addresses.begin(), addresses.end());
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &sockaddr_storage::ss_family);
  static_assert(AF_INET6 > AF_INET);
  int error_number = listen_at_all(sorted);
  for (int again = 0; is_taken(error_number) && again < max_ports; ++again) {
    ids_.clear();
    port_ = 0;  // any port that is free at the first address
    error_number = listen_at_all(sorted);
  }
  if (ids_.empty()) {
    throw Error::from_errno("listen for RDMA connections", error_number);
  }
  for (const auto& id : ids_) {
    const sockaddr* const address = rdma_get_local_addr(id.get());
    std::memcpy(&places_.emplace_back(), address,
                address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
  }
  thread_ = std::thread([this] { listen_loop(); });
}

RdmaListener::~RdmaListener() {
  signal_eventfd(stop_event_.get());
  thread_.join();
}

std::vector<std::string> RdmaListener::addresses() const {
  std::vector<std::string> texts;
  for (const sockaddr_storage& place : places_) {
    const auto* const address = reinterpret_cast<const sockaddr*>(&place);
    const std::string text = text_of(address);
    if (text != "::" && text != "0.0.0.0") {
      texts.push_back(text);
      continue;
    }
    for (const sockaddr_storage& one : rdma_addresses()) {
      if (place.ss_family == AF_INET6 || one.ss_family == AF_INET) {  // the IPv6 wildcard also accepts IPv4
        texts.push_back(text_of(reinterpret_cast<const sockaddr*>(&one)));
      }
    }
  }
  return texts;
}

/// Returns 0, or the errno of the last address that it cannot listen at; "the port is taken" has precedence.
int RdmaListener::listen_at_all(std::span<const sockaddr_storage> addresses) {
  int error_number = addresses.empty() ? ENODEV : 0;
  for (const sockaddr_storage& address : addresses) {
    const int listen_error = try_to_listen(address);
    if (listen_error != 0 && !is_taken(error_number)) {
      error_number = listen_error;
    }
  }
  return error_number;
}

/// Returns 0, or an errno.
int RdmaListener::try_to_listen(sockaddr_storage address) {
  auto id = own(make_id(events_.get()).release(), "make an RDMA listener");
  set_port(address, port_);
  if (rdma_bind_addr(id.get(), reinterpret_cast<sockaddr*>(&address)) != 0 || rdma_listen(id.get(), backlog) != 0) {
    return is_taken(errno) && address.ss_family == AF_INET && has_all_of_ipv6() ? 0 : errno;
  }
  port_ = ntohs(rdma_get_src_port(id.get()));
  ids_.push_back(std::move(id));
  return 0;
}

/// Whether it listens at the IPv6 wildcard, which also accepts IPv4.
bool RdmaListener::has_all_of_ipv6() const noexcept {
  return std::ranges::any_of(ids_, [](const auto& id) {
    const auto* address = reinterpret_cast<const sockaddr_in6*>(rdma_get_local_addr(id.get()));
    return address->sin6_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&address->sin6_addr);
  });
}

void RdmaListener::listen_loop() noexcept {
  set_thread_name("fw-rdma-accept");
  for (;;) {
    std::array descriptors{pollfd{.fd = stop_event_.get(), .events = POLLIN, .revents = 0},
                           pollfd{.fd = events_->fd, .events = POLLIN, .revents = 0}};
    wait_until(descriptors, INT64_MAX);
    if (descriptors[0].revents != 0) {
      return;
    }
    try {
      take_events();
    } catch (const std::exception&) {
      // No memory for this request: it is rejected; the next one may succeed.
    }
  }
}

void RdmaListener::take_events() {
  rdma_cm_event* event = nullptr;
  while (rdma_get_cm_event(events_.get(), &event) == 0) {
    VerbsPtr<rdma_cm_event> owned(event);
    if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
      take_request(std::move(owned));
    } else if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL) {
      const rdma_cm_id* id = event->id;
      owned.reset();
      drop_id(id);
    }
  }
}

void RdmaListener::take_request(VerbsPtr<rdma_cm_event> event) {
  VerbsPtr<rdma_cm_id> id(event->id);
  const std::string from = text_of(rdma_get_peer_addr(event->id));
  // rdma_cm pads private data with zeros. A longer one is not framewire's.
  RdmaPrivateData hello{};
  const auto& parameters = event->param.conn;
  if (parameters.private_data != nullptr) {
    std::memcpy(hello.data(), parameters.private_data,
                std::min<std::size_t>(parameters.private_data_len, hello.size()));
  }
  event.reset();  // before the request can be destroyed: destroying an id waits for its events
  on_request_(RdmaConnectRequest(events_, std::move(id)), hello, from);
}

/// The device is being removed. The kernel waits until nobody listens on it.
void RdmaListener::drop_id(const rdma_cm_id* id) noexcept {
  std::erase_if(ids_, [&](const auto& one) { return one.get() == id; });
  if (ids_.empty()) {
    port_ = 0;
  }
}

}  // namespace framewire
