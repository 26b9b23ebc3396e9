// --limit: no more than so many bytes a second.
#pragma once

#include <algorithm>
#include <cstdint>

namespace framewire {

/// When the next bytes may go. One thread.
class Pace {
 public:
  /// 0: whenever they like.
  explicit Pace(std::uint64_t bytes_per_s) noexcept : bytes_per_s_(bytes_per_s) {}

  /// `bytes` have gone at `now_ns`; the time from which on the next may. A pause is made up for by no more than a tenth
  /// of a second's bytes.
  std::int64_t after(std::uint64_t bytes, std::int64_t now_ns) noexcept {
    if (bytes_per_s_ == 0) {
      return now_ns;
    }
    constexpr std::int64_t made_up_ns = 100'000'000;
    const double takes_ns = static_cast<double>(bytes) * 1e9 / static_cast<double>(bytes_per_s_);
    due_ns_ = std::max(due_ns_, now_ns - made_up_ns) + static_cast<std::int64_t>(takes_ns);
    return due_ns_;
  }

 private:
  std::uint64_t bytes_per_s_;
  std::int64_t due_ns_ = INT64_MIN / 2;
};

}  // namespace framewire
