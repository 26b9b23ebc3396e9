// Work of a device on the bytes of a block: whether it is finished.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

namespace framewire {

enum class FenceState {
  pending,  // the device still reads or writes the bytes
  done,
  failed,  // the device has given up; what the bytes are is unknown
};

/// Shared by who starts the work, the device that does it, and those who wait for it. Any thread.
class Fence {
 public:
  Fence() = default;
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;

  /// Never blocks. A state other than `pending` is final, and what the device wrote before it is visible.
  [[nodiscard]] FenceState state() const noexcept { return state_.load(std::memory_order_acquire); }

  /// Calls `then` with the state once the work is finished: at once on this thread, or later on the device's thread.
  /// `then` must not wait for the device, throw, or keep this fence alive. May throw std::bad_alloc.
  void when_finished(std::function<void(FenceState)> then);

  /// For the device: the work has ended with this state, `done` or `failed`. A further call does nothing.
  void finish(FenceState state) noexcept;

 private:
  std::atomic<FenceState> state_ = FenceState::pending;
  std::mutex mutex_;
  std::vector<std::function<void(FenceState)>> waiting_;
};

}  // namespace framewire
