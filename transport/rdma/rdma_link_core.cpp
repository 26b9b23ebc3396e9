#include "transport/rdma/rdma_link_core.hpp"

#include <sys/epoll.h>

#include <array>
#include <exception>
#include <utility>

#include "base/clock.hpp"
#include "base/wait.hpp"
#include "transport/rdma/device_memory.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

RdmaLinkCore::RdmaLinkCore(std::unique_ptr<RdmaConnection> connection, std::string peer)
    : connection_(std::move(connection)),
      peer_(std::move(peer)),
      end_event_(make_eventfd()),
      poller_(make_poller({connection_->completion_descriptor(), end_event_.get()})),
      events_poller_(make_poller({connection_->event_descriptor(), connection_->device_event_descriptor()})),
      sends_(*connection_) {
  // Over iWARP, which has no immediates, the side that dialled must send before the other side may.
  const bool has_to_send_first = !connection_->capabilities().has_immediate && connection_->is_dialler();
  if (has_to_send_first && !sends_.post_probe()) {
    fail_by(IBV_WC_WR_FLUSH_ERR);
  }
  retired_.reserve(max_retired);
  leaving_.reserve(max_retired);
}

std::string RdmaLinkCore::fault() const {
  // A device whose port has just gone down fails a send by itself, or finds that the peer does not answer.
  const LinkState link_state = state();
  const bool has_failed = link_state == LinkState::lost || link_state == LinkState::broken;
  const std::string trouble = has_failed ? connection_->port_trouble() : "";
  const std::scoped_lock lock(mutex_);
  return fault_ + trouble;
}

bool RdmaLinkCore::await(const std::function<bool()>& is_done, std::int64_t deadline_ns, const StopCheck& stop) {
  constexpr std::int64_t poll_interval_ns = 100'000;
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
    if (monotonic_ns() >= deadline_ns || (stop && stop())) {
      return false;
    }
    if (wait_for(maintenance_descriptor(), POLLIN, monotonic_ns() + poll_interval_ns)) {
      take_events();
    }
  }
}

void RdmaLinkCore::set_access(const MemoryRegion& memory_region) {
  access_ = memory_region.access;
  if (!memory_region.reached.empty() && memory_region.reached != said_reached_) {
    say_how_reached(memory_region);
  }
}

void RdmaLinkCore::say_how_reached(const MemoryRegion& memory_region) {
  said_reached_ = memory_region.reached;
  const auto& [way, passed_over] = memory_region.access;
  const bool is_as_told = !told_way_ || *told_way_ == way;
  told_way_ = way;
  connection_->say(LogLevel::info, "the RDMA device " + connection_->device_name() + " reaches " + said_reached_ +
                                       (passed_over.empty() ? "" : " (" + passed_over + ")") +
                                       (is_as_told ? "" : ": access=" + way + " from here on"));
}

MemoryAccess RdmaLinkCore::access_to(const MemoryKind& memory) const {
  if (memory.is_host() || access_) {
    return memory.is_host() ? MemoryAccess{} : *access_;
  }
  if (!tried_) {  // once: takes() must not change when frames rely on it
    tried_ = try_access(connection_->protection_domain(), memory);
    if (!tried_->way.empty()) {
      told_way_ = tried_->way;
    }
  }
  return *tried_;
}

void RdmaLinkCore::watch(int descriptor) const {
  watch_also(poller_.get(), descriptor);
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

// ---- Maintenance ----

/// A peer that sends nothing looks like one that is gone. If no completion is awaited, a probe makes the peer's device
/// acknowledge. This happens in every round: a request since the last round may have been acknowledged just before the
/// peer fell silent.
void RdmaLinkCore::maintain() noexcept {
  take_events();
  {
    const std::scoped_lock lock(mutex_);
    poll_sends();
    post_probe();
    if (is_open() && sends_.is_stalled(monotonic_ns())) {
      fail(LinkState::lost, describe_stall(peer_));
    }
    retired_.swap(leaving_);
  }
  leaving_.clear();  // deregisters
}

void RdmaLinkCore::take_events() noexcept {
  std::array descriptors{pollfd{.fd = connection_->event_descriptor(), .events = POLLIN, .revents = 0},
                         pollfd{.fd = connection_->device_event_descriptor(), .events = POLLIN, .revents = 0}};
  wait_until(descriptors, 0);
  try {
    if (descriptors[0].revents != 0) {  // else rdma_get_cm_event() would allocate for nothing
      take_end();
    }
    // Also without poll()'s word: another connection's thread may have read an event of this connection.
    const bool has_heard = take_device_events();
    if (!has_heard && (descriptors[1].revents & ~POLLIN) != 0) {
      // The device is gone, and its descriptor would stay readable.
      ::epoll_ctl(events_poller_.get(), EPOLL_CTL_DEL, descriptors[1].fd, nullptr);
    }
  } catch (const std::exception&) {
    // No memory for a message; what has ended also fails the work requests.
  }
}

void RdmaLinkCore::take_end() {
  if (const auto what = connection_->take_end()) {
    {
      const std::scoped_lock lock(mutex_);
      fail(LinkState::closed, peer_ + " " + *what);
    }
    connection_->disconnect();  // answers the peer's disconnect, and flushes what is still posted
  }
}

/// True when there was an event.
bool RdmaLinkCore::take_device_events() {
  const std::vector<DeviceEvent> events = connection_->take_device_events();
  for (const DeviceEvent& event : events) {
    const std::string text = "the RDMA device " + connection_->device_name() + " reports: " + event.text();
    connection_->say(event.level(), text);
    if (event.is_fatal()) {
      const std::scoped_lock lock(mutex_);
      fail(LinkState::lost, text);
    }
  }
  return !events.empty();
}

}  // namespace framewire
