// Polls briefly before sleeping, where that pays.
#pragma once

#include <cstdint>
#include <thread>

#include "base/clock.hpp"

namespace framewire {

/// How a thread waits for another one.
enum class WaitMode {
  adaptive,  // polls briefly before it sleeps, as long as waits are short
  spin,      // always polls
  block,     // sleeps at once
};

constexpr const char* name(WaitMode mode) noexcept {
  return mode == WaitMode::spin ? "spin" : mode == WaitMode::block ? "block" : "adaptive";
}

/// Decides whether a waiting thread polls again or sleeps. To sleep and be woken takes 10 to 40 us, so polling is
/// cheaper for shorter waits. As in KVM's halt polling, the last wait predicts the next one: after a short wait the
/// thread polls, after a long one it does not. So 60 frames per second cost no polling. Not thread-safe, but for
/// pause().
class AdaptiveSpin {
 public:
  /// A wait up to this long is short: polling for it pays.
  static constexpr std::int64_t short_wait_ns = 50'000;

  /// Call when a poll found nothing: true to poll again at once, false to sleep first. With `spin` it does not read the
  /// clock.
  bool poll_again(WaitMode mode) noexcept { return mode == WaitMode::spin || poll_again(mode, monotonic_ns()); }

  /// The same with the caller's time.
  bool poll_again(WaitMode mode, std::int64_t now_ns) noexcept {
    if (began_ns_ == 0) {
      began_ns_ = now_ns;
    }
    return mode == WaitMode::spin || (mode == WaitMode::adaptive && polls_ && now_ns - began_ns_ < short_wait_ns);
  }

  /// Call between two polls. `spin` yields the processor only now and then: on a machine with few processors the
  /// awaited thread may need this one.
  static void pause(WaitMode mode) noexcept {
    constexpr unsigned polls_between_yields = 256;
    thread_local unsigned polls = 0;
    if (mode != WaitMode::spin || ++polls % polls_between_yields == 0) {
      std::this_thread::yield();
      return;
    }
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");  // takes as long as x86's pause; "yield" is a no-op on most cores
#endif
  }

  /// Call when a poll found something: ends the wait, if there was one.
  void found(std::int64_t now_ns) noexcept {
    if (began_ns_ != 0) {
      polls_ = now_ns - began_ns_ < short_wait_ns;
      began_ns_ = 0;
    }
  }
  /// The same; reads the clock if there was a wait.
  void found() noexcept {
    if (began_ns_ != 0) {
      found(monotonic_ns());
    }
  }

 private:
  std::int64_t began_ns_ = 0;  // 0: not waiting
  bool polls_ = false;
};

}  // namespace framewire
