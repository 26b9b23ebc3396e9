// Which of several streams a set of frames has to wait for. Logic only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace framewire {

/// A set waits for the streams that deliver the frames which others deliver, too. A stream that has just come, that is
/// stopped, or that has another viewer's frames is not awaited: it must not hold up the others. Of two groups with
/// different frames the larger one is awaited; of equals, the earlier one. Frames are known by their user tags; tag 0
/// is that of frames nobody has asked for. Not thread-safe.
class AwaitedMembers {
 public:
  static constexpr std::size_t most_members = 8;
  /// A stream is not awaited any more when another one that is has delivered so many frames since its own last one. (If
  /// it is the only one that is awaited, any other one.) While a set is waited for, two frames come of each stream;
  /// more come only when sets are given up.
  static constexpr std::uint8_t longest_lag = 4;

  /// `member` identifies a stream. At most most_members.
  void add(const void* member) { members_.push_back({.id = member}); }
  void remove(const void* member) {
    const auto gone = find(member);
    if (gone == members_.end()) {
      return;
    }
    const auto index = static_cast<std::size_t>(gone - members_.begin());
    members_.erase(gone);
    for (Member& other : members_) {
      std::shift_left(other.lags.begin() + static_cast<std::ptrdiff_t>(index), other.lags.end(), 1);
      other.lags.back() = 0;
    }
  }

  /// A frame of the stream has come, or waits still: it counts once.
  void delivered(const void* member, std::uint64_t tag) noexcept {
    const auto found = find(member);
    if (found == members_.end() || tag == 0 || found->has_delivered(tag)) {
      return;
    }
    found->tags.at(found->count++ % found->tags.size()) = tag;
    found->lags.fill(0);
    found->is_behind = false;
    count_lags(*found);
    const auto has = [tag](const Member& other) { return !other.is_behind && other.has_delivered(tag); };
    const auto is_awaited_too = [&](const Member& other) { return other.is_awaited && has(other); };
    if (std::ranges::any_of(members_, is_awaited_too)) {
      for (Member& other : members_) {
        other.is_awaited = other.is_awaited || has(other);
      }
    } else if (std::ranges::count_if(members_, has) > std::ranges::count_if(members_, &Member::is_awaited)) {
      for (Member& other : members_) {
        other.is_awaited = has(other);
      }
    }
  }

  /// It has delivered what it was asked for, however late: the others wait for it from now on.
  void join(const void* member) noexcept {
    if (const auto found = find(member); found != members_.end()) {
      found->is_awaited = true;
      found->is_behind = false;
      found->lags.fill(0);
    }
  }

  [[nodiscard]] bool is_awaited(const void* member) const noexcept {
    const auto found = std::ranges::find(members_, member, &Member::id);
    return found != members_.end() && found->is_awaited;
  }
  /// Whether it is not awaited because others have delivered more.
  [[nodiscard]] bool is_behind(const void* member) const noexcept {
    const auto found = std::ranges::find(members_, member, &Member::id);
    return found != members_.end() && found->is_behind;
  }

 private:
  struct Member {
    const void* id = nullptr;
    std::array<std::uint64_t, 8> tags{};            // of the newest frames
    std::size_t count = 0;                          // of all frames
    std::array<std::uint8_t, most_members> lags{};  // frames of each other member since its own last one
    bool is_awaited = false;
    bool is_behind = false;
    [[nodiscard]] bool has_delivered(std::uint64_t tag) const noexcept {
      return std::ranges::find(tags, tag) != tags.end();
    }
  };

  std::vector<Member>::iterator find(const void* member) noexcept {
    return std::ranges::find(members_, member, &Member::id);
  }
  /// One more frame of `newest` than before.
  void count_lags(const Member& newest) noexcept {
    if (!newest.is_awaited && std::ranges::count_if(members_, &Member::is_awaited) > 1) {
      return;
    }
    const auto index = static_cast<std::size_t>(&newest - members_.data());
    for (Member& other : members_) {
      if (&other != &newest && ++other.lags.at(index) >= longest_lag) {
        other.lags.at(index) = longest_lag;
        other.is_behind = true;
        other.is_awaited = false;
      }
    }
  }

  std::vector<Member> members_;
};

}  // namespace framewire
