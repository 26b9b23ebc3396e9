#include "transport/rdma/rdma_link_core.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

RdmaLinkCore::RdmaLinkCore(std::unique_ptr<RdmaConnection> connection, std::string peer)
    : connection_(std::move(connection)),
      peer_(std::move(peer)),
      end_event_(make_eventfd()),
      poller_(make_poller({connection_->completion_descriptor(), end_event_.get()})),
      sends_(*connection_) {
  // Over iWARP, which has no immediates, the side that dialled must send before the other side may.
  const bool has_to_send_first = !connection_->capabilities().has_immediate && connection_->is_dialler();
  if (has_to_send_first && !sends_.post_probe()) {
    fail_by(IBV_WC_WR_FLUSH_ERR);
  }
  retired_.reserve(max_retired);
  leaving_.reserve(max_retired);
}

void RdmaLinkCore::start_monitor(Callbacks callbacks) {
  callbacks_ = std::move(callbacks);
  monitor_ = std::make_unique<ConnectionMonitor>(
      *connection_,
      ConnectionMonitor::Callbacks{.on_end = [this](const std::string& what) { on_peer_closed(what); },
                                   .on_device_event = [this](const DeviceEvent& event) { on_device_event(event); },
                                   .on_tick = [this] { check_connection(); }});
}

void RdmaLinkCore::stop() noexcept {
  monitor_.reset();
  connection_->disconnect();
}

std::string RdmaLinkCore::fault() const {
  const std::string trouble = state() == LinkState::lost ? connection_->port_trouble() : "";
  const std::scoped_lock lock(mutex_);
  return fault_ + trouble;
}

bool RdmaLinkCore::await(const std::function<bool()>& is_done, std::int64_t deadline_ns) {
  constexpr auto poll_interval = std::chrono::microseconds(100);
  for (;;) {
    {
      const std::scoped_lock lock(mutex_);
      poll_sends();
      if (!is_open()) {
        return false;
      }
      if (is_done()) {
        return true;
      }
    }
    if (monotonic_ns() >= deadline_ns) {
      return false;
    }
    std::this_thread::sleep_for(poll_interval);
  }
}

bool RdmaLinkCore::post(std::span<ibv_send_wr> requests) noexcept {
  const bool is_posted = sends_.post(requests);
  if (!is_posted) {
    fail_by(IBV_WC_WR_FLUSH_ERR);
  }
  return is_posted;
}

void RdmaLinkCore::post_probe() noexcept {
  if (is_open() && !sends_.post_probe()) {
    fail_by(IBV_WC_WR_FLUSH_ERR);
  }
}

bool RdmaLinkCore::poll_sends() noexcept {
  const std::uint64_t completed_before = sends_.completed();
  if (const auto status = sends_.poll()) {
    fail_by(*status);
  }
  return sends_.completed() != completed_before;
}

void RdmaLinkCore::request_notification() noexcept {
  if (is_open() && !connection_->request_notification()) {
    fail(LinkState::lost, "the RDMA device is gone");
  }
}

void RdmaLinkCore::retire(std::shared_ptr<const void> memory) noexcept {
  retired_.push_back(std::move(memory));
}

void RdmaLinkCore::fail(LinkState state, std::string why) noexcept {
  if (is_open()) {
    fault_ = std::move(why);
    state_.store(state, std::memory_order_release);
  }
  signal_eventfd(end_event_.get());
}

// ---- On the monitor's thread ----

/// A peer that sends nothing looks like one that is gone. If no completion is awaited, a probe makes the peer's device
/// acknowledge. This happens in every round: a request since the last round may have been acknowledged just before the
/// peer fell silent.
void RdmaLinkCore::check_connection() noexcept {
  leaving_.clear();  // retired before the last round; released without the mutex
  const std::scoped_lock lock(mutex_);
  retired_.swap(leaving_);
  poll_sends();
  if (callbacks_.on_tick) {
    callbacks_.on_tick();
  }
  post_probe();
  if (is_open() && sends_.is_stalled(monotonic_ns())) {
    fail(LinkState::lost, describe_stall(peer_));
  }
}

void RdmaLinkCore::on_device_event(const DeviceEvent& event) {
  const std::string text = "the RDMA device " + connection_->device_name() + " reports: " + event.text();
  connection_->say(event.level(), text);
  if (event.is_fatal()) {
    const std::scoped_lock lock(mutex_);
    fail(LinkState::lost, text);
  }
}

void RdmaLinkCore::on_peer_closed(const std::string& what) noexcept {
  const std::scoped_lock lock(mutex_);
  if (callbacks_.before_end) {
    callbacks_.before_end();
  }
  fail(LinkState::closed, peer_ + " " + what);
}

}  // namespace framewire
