#include "memory/fence.hpp"

#include <cassert>
#include <utility>

namespace framewire {

void Fence::when_finished(std::function<void(FenceState)> then) {
  {
    const std::scoped_lock lock(mutex_);
    if (state() == FenceState::pending) {
      waiting_.push_back(std::move(then));
      return;
    }
  }
  then(state());
}

void Fence::finish(FenceState state) noexcept {
  assert(state != FenceState::pending);
  std::vector<std::function<void(FenceState)>> waiting;
  {
    const std::scoped_lock lock(mutex_);
    if (this->state() != FenceState::pending) {
      return;
    }
    state_.store(state, std::memory_order_release);
    waiting.swap(waiting_);
  }
  for (const auto& then : waiting) {
    then(state);
  }
}

}  // namespace framewire
