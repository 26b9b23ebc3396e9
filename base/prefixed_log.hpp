// Messages that say what they are about.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/log.hpp"

namespace framewire {

/// Puts the name of what a message is about before each line. `log` outlives it.
class PrefixedLog final : public Log {
 public:
  /// No prefix if `about` is empty.
  PrefixedLog(Log& log, std::string about) : log_(log), prefix_(about.empty() ? "" : std::move(about) + ": ") {}

  void line(LogLevel level, std::string_view text) override { log_.line(level, prefix_ + std::string(text)); }

 private:
  Log& log_;
  const std::string prefix_;
};

}  // namespace framewire
