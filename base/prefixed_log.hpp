// Messages that say what they are about.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "base/log.hpp"

namespace framewire {

/// Puts the name of what a message is about before each line, once that is asked for. `log` outlives it.
class PrefixedLog final : public Log {
 public:
  PrefixedLog(Log& log, const std::string& about, bool is_shown = true)
      : log_(log), prefix_(about + ": "), is_shown_(is_shown) {}

  void show_prefix(bool is_shown) noexcept { is_shown_ = is_shown; }

  void line(LogLevel level, std::string_view text) override {
    log_.line(level, is_shown_ ? prefix_ + std::string(text) : std::string(text));
  }

 private:
  Log& log_;
  const std::string prefix_;
  std::atomic<bool> is_shown_;
};

}  // namespace framewire
