// Shows frames of the same instant together, although their ways here take different times.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/clock.hpp"
#include "base/saturating.hpp"

namespace framewire {

/// What streams that are shown together need from the instant of a frame (its sender began it) to its choice: each says
/// its own need, and all wait for the longest. Any thread.
class SyncGroup {
 public:
  /// Nobody waits more than this for a slower stream.
  static constexpr std::int64_t longest_wait_ns = 250 * ns_per_ms;
  /// A stream without a frame for so long holds nobody back.
  static constexpr std::int64_t forgotten_after_ns = 500 * ns_per_ms;

  /// A stream's place in a group, for its lifetime.
  class Member {
   public:
    explicit Member(SyncGroup& group) : group_(group), index_(group.join()) {}
    ~Member() { group_.leave(index_); }
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    /// The stream needs `need_ns` now. Returns what all of them need.
    std::int64_t common_ns(std::int64_t need_ns, std::int64_t now_ns) noexcept {
      return group_.common_ns(index_, need_ns, now_ns);
    }

   private:
    SyncGroup& group_;
    const std::size_t index_;
  };

 private:
  struct Need {
    bool has_member = false;
    bool is_known = false;  // else it holds nobody back
    std::int64_t need_ns = 0;
    std::int64_t at_ns = 0;
  };

  std::size_t join() {
    const std::scoped_lock lock(mutex_);
    const auto free = std::ranges::find(needs_, false, &Need::has_member);
    const auto index = static_cast<std::size_t>(free - needs_.begin());
    if (free == needs_.end()) {
      needs_.emplace_back();
    }
    needs_[index] = {.has_member = true};
    return index;
  }
  void leave(std::size_t index) noexcept {
    const std::scoped_lock lock(mutex_);
    needs_[index] = {};
  }

  /// The longest need that is not so far from the shortest that waiting for it would take too long.
  std::int64_t common_ns(std::size_t index, std::int64_t need_ns, std::int64_t now_ns) noexcept {
    const std::scoped_lock lock(mutex_);
    needs_[index] = {.has_member = true, .is_known = true, .need_ns = need_ns, .at_ns = now_ns};
    std::int64_t shortest_ns = need_ns;
    for (Need& need : needs_) {
      need.is_known = need.is_known && now_ns - need.at_ns <= forgotten_after_ns;
      shortest_ns = need.is_known ? std::min(shortest_ns, need.need_ns) : shortest_ns;
    }
    std::int64_t longest_ns = shortest_ns;
    for (const Need& need : needs_) {
      if (need.is_known && saturating_subtract(need.need_ns, shortest_ns) <= longest_wait_ns) {
        longest_ns = std::max(longest_ns, need.need_ns);
      }
    }
    return longest_ns;
  }

  std::mutex mutex_;  // guards what follows
  std::vector<Need> needs_;
};

}  // namespace framewire
