// --limit: an upper bound on bytes per second.
#pragma once

#include <algorithm>
#include <cstdint>

namespace framewire {

/// A token bucket that holds a tenth of a second's bytes and starts empty. With chunks of at most max_at_once() bytes,
/// the rate is exceeded by at most one such chunk, and by one more after a pause. One thread.
class RateLimiter {
 public:
  /// 0: no limit.
  explicit RateLimiter(std::uint64_t bytes_per_s) noexcept : bytes_per_s_(bytes_per_s) {}

  /// The largest chunk: a tenth of a second's bytes, and at least one.
  [[nodiscard]] std::uint64_t max_at_once() const noexcept {
    return bytes_per_s_ == 0 ? UINT64_MAX : std::max<std::uint64_t>(bytes_per_s_ / 10, 1);
  }

  /// Records that `bytes` were sent at `now_ns`. Returns the time from which the next bytes may be sent. A pause is
  /// made up for by at most a tenth of a second's bytes.
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
