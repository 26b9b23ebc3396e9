// Which peers of links are to be woken, once the mutex is released.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "transport/link.hpp"

namespace framewire {

/// Wakes viewers for frames given to their links, in its destructor. Declare it before the lock of the mutex: a wake-up
/// is a system call, and the woken thread may want the mutex at once. One thread.
class WakeList {
 public:
  using Wakers = std::vector<std::shared_ptr<PeerWaker>>;

  /// With room for one link.
  WakeList() noexcept : wakers_(&one_, 1) {}
  /// With room for as many links as `room` has elements, all null. It outlives the list.
  explicit WakeList(Wakers& room) noexcept : wakers_(room) {}
  ~WakeList() { wake(); }
  WakeList(const WakeList&) = delete;
  WakeList& operator=(const WakeList&) = delete;

  /// At most once for each link between two calls of wake().
  void add(SenderLink& link) noexcept {
    if (auto waker = link.take_waker()) {
      wakers_[count_++] = std::move(waker);
    }
  }
  void wake() noexcept {
    for (const std::size_t count = std::exchange(count_, 0); auto& waker : wakers_.first(count)) {
      std::exchange(waker, nullptr)->wake();
    }
  }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

 private:
  std::shared_ptr<PeerWaker> one_;
  std::span<std::shared_ptr<PeerWaker>> wakers_;
  std::size_t count_ = 0;
};

}  // namespace framewire
