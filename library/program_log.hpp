// The log function of a program, which may go before the threads that log.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/log.hpp"
#include "library/include/framewire/framewire.h"
#include "library/option_words.hpp"

namespace framewire {

/// Any thread. Whoever may log keeps it alive.
class ProgramLog final : public Log {
 public:
  /// `function` may be null.
  ProgramLog(fw_log_function function, void* user) noexcept : function_(function), user_(user) {}

  void line(LogLevel level, std::string_view text) override {
    if (function_ == nullptr) {
      return;
    }
    const std::shared_lock lock(mutex_);
    if (is_silent_) {
      return;
    }
    const ProgramLog* const before = std::exchange(in_function_of_, this);
    function_(user_, static_cast<std::int32_t>(level), in_option_words(text).c_str());
    in_function_of_ = before;
  }

  /// The function is called no more. Waits for calls that run, but for one on this thread: that has called this.
  void silence() noexcept {
    is_silent_ = true;
    if (in_function_of_ != this) {
      const std::scoped_lock all_calls(mutex_);
    }
  }

 private:
  static inline thread_local const ProgramLog* in_function_of_ = nullptr;  // the one whose function this thread is in

  const fw_log_function function_;
  void* const user_;
  std::atomic<bool> is_silent_ = false;
  std::shared_mutex mutex_;  // shared by the calls of the function
};

}  // namespace framewire
