// Which peers of links and which sessions are to be woken, once the mutex is released.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <memory>
#include <utility>

#include "transport/event_list.hpp"
#include "transport/link.hpp"

namespace framewire {

/// Wakes viewers for frames given to their links, and then sessions, in its destructor. Declare it before the lock of
/// the mutex: a wake-up is a system call, and the woken thread may want the mutex at once. One thread. It does not
/// allocate.
class WakeList {
 public:
  /// Links between two calls of wake(). A viewer that changes its link has two.
  static constexpr std::size_t max_links = std::size_t{2} * max_stream_viewers;

  WakeList() noexcept {}  // NOLINT(modernize-use-equals-default): places_ is a union's
  ~WakeList() { wake(); }
  WakeList(const WakeList&) = delete;
  WakeList& operator=(const WakeList&) = delete;

  /// Links of at most max_links viewers between two calls of wake(). A link may come again with the frames that it was
  /// given meanwhile.
  void add(SenderLink& link) noexcept {
    auto waker = link.take_waker();
    if (waker && std::find(places_.begin(), places_.begin() + count_, waker) == places_.begin() + count_) {
      assert(count_ < max_links);
      std::construct_at(&places_[count_++], std::move(waker));
    }
  }
  void add(const SharedEvent& session) noexcept { sessions_.add(session); }
  void wake() noexcept {
    const std::size_t count = std::exchange(count_, 0);
    for (std::size_t i = 0; i < count; ++i) {
      places_[i]->wake();
      std::destroy_at(&places_[i]);
    }
    sessions_.signal();
  }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0 && sessions_.empty(); }

 private:
  union {
    std::array<std::shared_ptr<PeerWaker>, max_links> places_;  // only the first count_ exist: few are needed
  };
  std::size_t count_ = 0;
  EventList sessions_;
};

}  // namespace framewire
