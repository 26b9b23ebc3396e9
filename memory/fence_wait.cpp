#include "memory/fence_wait.hpp"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "base/clock.hpp"

namespace framewire {

namespace {

constexpr std::chrono::milliseconds between_looks{20};

/// The fence may be finished after the wait has been given up.
struct Ended {
  std::mutex mutex;
  std::condition_variable changed;
  FenceState state = FenceState::pending;
};

}  // namespace

FenceState wait_until_finished(Fence& fence, std::int64_t deadline_ns, const std::function<bool()>& is_cancelled) {
  const auto ended = std::make_shared<Ended>();
  fence.when_finished([ended](FenceState state) {
    const std::scoped_lock lock(ended->mutex);
    ended->state = state;
    ended->changed.notify_all();
  });
  std::unique_lock lock(ended->mutex);
  while (ended->state == FenceState::pending && monotonic_ns() < deadline_ns && !(is_cancelled && is_cancelled())) {
    ended->changed.wait_for(lock, between_looks);
  }
  return ended->state;
}

}  // namespace framewire
