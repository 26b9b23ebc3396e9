// Which sessions are to be woken, once a mutex is released.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include "base/file_descriptor.hpp"
#include "transport/pool.hpp"

namespace framewire {

/// An eventfd of several owners. Who signals it after releasing a mutex keeps it open meanwhile: its session may have
/// ended, and another file may have its number. Null: nobody waits.
using SharedEvent = std::shared_ptr<const FileDescriptor>;
/// Throws Error when the process has no descriptors left.
inline SharedEvent make_shared_event() {
  return std::make_shared<const FileDescriptor>(make_eventfd());
}

/// The most viewers of a stream that pull. They cost the others nothing, but each needs a connection and a thread.
inline constexpr std::size_t max_pullers = 16;

/// Signals events in its destructor. Declare it before the lock of the mutex: to signal one is a system call, and the
/// woken thread may want the mutex at once. One thread. It does not allocate.
class EventList {
 public:
  EventList() noexcept {}  // NOLINT(modernize-use-equals-default): places_ is a union's
  ~EventList() { signal(); }
  EventList(const EventList&) = delete;
  EventList& operator=(const EventList&) = delete;

  void add(const SharedEvent& event) noexcept {
    if (!event) {
      return;
    }
    if (count_ == max_events) {
      signal();  // too early, but only once in so many
    }
    std::construct_at(&places_[count_++], event);
  }
  void signal() noexcept {
    const std::size_t count = std::exchange(count_, 0);
    for (std::size_t i = 0; i < count; ++i) {
      signal_eventfd(places_[i]->get());
      std::destroy_at(&places_[i]);
    }
  }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

 private:
  /// All sessions of a stream. A viewer that changes its link has two queues.
  static constexpr std::size_t max_events = std::size_t{2} * max_stream_viewers + max_pullers;
  union {
    std::array<SharedEvent, max_events> places_;  // only the first count_ exist: few are needed
  };
  std::size_t count_ = 0;
};

}  // namespace framewire
