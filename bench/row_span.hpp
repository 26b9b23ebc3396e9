// The time that a link's row took, as its receiver sees it.
#pragma once

#include <cstdint>

namespace framewire {

/// From when the sender started on the first message to when the last one arrived, so that n messages are divided by
/// the time of n. Used by the thread that takes the messages.
class RowSpan {
 public:
  /// A message: when its sender began it, by the sender's clock, when it arrived, by ours, and by how much the sender's
  /// clock is ahead of ours.
  void take(std::int64_t begun_ns, std::int64_t arrived_ns, std::int64_t ahead_ns) noexcept {
    if (count_++ == 0) {
      begun_ns_ = begun_ns;
    }
    arrived_ns_ = arrived_ns + ahead_ns;
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  /// 0, not known: nothing came, the sender does not say when it began, or the clocks may differ by as much as it took.
  [[nodiscard]] double seconds(std::int64_t uncertainty_ns) const noexcept {
    const std::int64_t took_ns = arrived_ns_ - begun_ns_;
    return begun_ns_ == 0 || took_ns <= uncertainty_ns ? 0 : static_cast<double>(took_ns) / 1e9;
  }

 private:
  std::uint64_t count_ = 0;
  std::int64_t begun_ns_ = 0;
  std::int64_t arrived_ns_ = 0;
};

}  // namespace framewire
