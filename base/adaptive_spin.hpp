// Polling for a moment before sleeping, where that pays.
#pragma once

#include <cstdint>
#include <thread>

#include "base/clock.hpp"

namespace framewire {

/// How a thread waits for what another one does.
enum class WaitMode {
  adaptive,  // polls for a moment before it sleeps, as long as waits turn out short
  spin,      // polls, whatever it costs
  block,     // sleeps at once
};

constexpr const char* name(WaitMode mode) noexcept {
  return mode == WaitMode::spin ? "spin" : mode == WaitMode::block ? "block" : "adaptive";
}

/// Decides for one waiting thread whether to look again or to sleep. Going to sleep and being woken takes 10 to 40 us;
/// a wait that is over sooner is cheaper polled. As in KVM's halt polling the last wait is taken as the forecast of the
/// next one: while they are short each one polls, the first long one ends that, so that frames at 60 a second cost
/// nothing. Owned and used by the thread that waits.
class AdaptiveSpin {
 public:
  /// Waits that end within this time are worth polling for.
  static constexpr std::int64_t short_wait_ns = 50'000;

  /// Nothing was there: true to look again at once, false to sleep and then look again. Whoever spins looks at no
  /// clock.
  bool poll_again(WaitMode mode) noexcept { return mode == WaitMode::spin || poll_again(mode, monotonic_ns()); }

  /// The same at a time that the caller knows.
  bool poll_again(WaitMode mode, std::int64_t now_ns) noexcept {
    if (began_ns_ == 0) {
      began_ns_ = now_ns;
    }
    return mode == WaitMode::spin || (mode == WaitMode::adaptive && polls_ && now_ns - began_ns_ < short_wait_ns);
  }

  /// Between two looks. `spin` means it: the processor is not handed back but for once in a while, since on a machine
  /// with few of them whoever is waited for may need this one.
  void pause(WaitMode mode) noexcept {
    constexpr unsigned polls_between_yields = 256;
    if (mode != WaitMode::spin || ++polls_since_yield_ % polls_between_yields == 0) {
      std::this_thread::yield();
      return;
    }
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");  // as long as a pause of x86; "yield" is a no-op on most cores
#endif
  }

  /// What was waited for is there: the wait, if there was one, is over.
  void found(std::int64_t now_ns) noexcept {
    if (began_ns_ != 0) {
      polls_ = now_ns - began_ns_ < short_wait_ns;
      began_ns_ = 0;
    }
  }

 private:
  std::int64_t began_ns_ = 0;  // 0: not waiting
  bool polls_ = false;
  unsigned polls_since_yield_ = 0;
};

}  // namespace framewire
