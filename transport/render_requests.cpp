#include "transport/render_requests.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"

namespace framewire {

void RenderRequests::offer() noexcept {
  const std::scoped_lock lock(mutex_);
  is_offered_ = true;
}

std::optional<RenderRequest> RenderRequests::next(std::int64_t deadline_ns) {
  std::unique_lock lock(mutex_);
  if (std::exchange(is_rendering_, false)) {
    served_ns_ = monotonic_ns();
  }
  const std::int64_t pause_ends_ns = owner_ != nullptr ? served_ns_ + longest_pause_ns : INT64_MAX;
  changed_.wait_until(lock, as_time_point(std::min(deadline_ns, pause_ends_ns)),
                      [&] { return !waiting_.empty() || is_stopping_ || owner_ == nullptr; });
  if (waiting_.empty() || is_stopping_) {
    if (owner_ != nullptr && monotonic_ns() - served_ns_ >= longest_pause_ns) {
      owner_ = nullptr;
      is_driven_.store(false, std::memory_order_relaxed);
    }
    return std::nullopt;
  }
  const RenderRequest request = waiting_.front();
  waiting_.erase(waiting_.begin());
  is_rendering_ = true;
  const std::uint64_t count = taken_.load(std::memory_order_relaxed);
  known_.at(count % most_known) = request;
  taken_.store(count + 1, std::memory_order_release);
  return request;
}

void RenderRequests::stop() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
}

std::optional<RenderRefusal> RenderRequests::ask(const void* session, const RenderRequest& request) {
  {
    const std::scoped_lock lock(mutex_);
    if (!is_offered_) {
      return RenderRefusal{request.id, RenderRefusal::Reason::unsupported,
                           "this source does not render on request; a gl: source with depth does"};
    }
    if (owner_ != nullptr && owner_ != session) {
      return RenderRefusal{request.id, RenderRefusal::Reason::owned, "another viewer moves the camera"};
    }
    if (owner_ == session && std::ranges::find(known_, request.id, &RenderRequest::id) != known_.end()) {
      served_ns_ = monotonic_ns();  // it waits for the frames that other sources render
      return std::nullopt;
    }
    if (std::ranges::find(waiting_, request.id, &RenderRequest::id) != waiting_.end()) {
      return std::nullopt;
    }
    if (waiting_.size() >= most_waiting) {
      return RenderRefusal{request.id, RenderRefusal::Reason::busy,
                           "two frames that were asked for are not rendered yet"};
    }
    if (std::exchange(owner_, session) == nullptr) {
      served_ns_ = monotonic_ns();
    }
    is_driven_.store(true, std::memory_order_relaxed);
    waiting_.push_back(request);
  }
  changed_.notify_all();
  return std::nullopt;
}

void RenderRequests::revoke(const void* session, std::uint64_t id) noexcept {
  const std::scoped_lock lock(mutex_);
  if (owner_ == session) {
    std::erase_if(waiting_, [id](const RenderRequest& request) { return request.id == id; });
  }
}

void RenderRequests::forget(const void* session) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (owner_ != session) {
      return;
    }
    owner_ = nullptr;
    waiting_.clear();
    is_driven_.store(false, std::memory_order_relaxed);
  }
  changed_.notify_all();
}

std::vector<RenderRequest> RenderRequests::taken_after(std::uint64_t& count) const {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t taken = taken_.load(std::memory_order_relaxed);
  std::vector<RenderRequest> requests;
  for (std::uint64_t i = std::max(count, taken - std::min<std::uint64_t>(taken, most_known)); i < taken; ++i) {
    requests.push_back(known_.at(i % most_known));
  }
  count = taken;
  return requests;
}

}  // namespace framewire
