// --limit: no more than so many bytes a second.
#pragma once

#include <algorithm>
#include <cstdint>

namespace framewire {

/// When the next bytes may go: a token bucket that holds a tenth of a second's bytes and is empty at the beginning. Of
/// chunks of at most max_at_once() no more than that goes beyond the rate, and after a pause as much again. One
/// thread.
class RateLimiter {
 public:
  /// 0: whenever they like.
  explicit RateLimiter(std::uint64_t bytes_per_s) noexcept : bytes_per_s_(bytes_per_s) {}

  /// The largest chunk: a tenth of a second's bytes, and at least one.
  [[nodiscard]] std::uint64_t max_at_once() const noexcept {
    return bytes_per_s_ == 0 ? UINT64_MAX : std::max<std::uint64_t>(bytes_per_s_ / 10, 1);
  }

  /// `bytes` have gone at `now_ns`; the time from which on the next may. A pause is made up for by no more than a tenth
  /// of a second's bytes.
  std::int64_t after(std::uint64_t bytes, std::int64_t now_ns) noexcept {
    if (bytes_per_s_ == 0) {
      return now_ns;
    }
    constexpr std::int64_t made_up_ns = 100'000'000;
    const double takes_ns = static_cast<double>(bytes) * 1e9 / static_cast<double>(bytes_per_s_);
    due_ns_ = (has_begun_ ? std::max(due_ns_, now_ns - made_up_ns) : now_ns) + static_cast<std::int64_t>(takes_ns);
    has_begun_ = true;
    return due_ns_;
  }

 private:
  std::uint64_t bytes_per_s_;
  bool has_begun_ = false;
  std::int64_t due_ns_ = 0;
};

}  // namespace framewire
