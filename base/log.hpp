// The library's messages for a person.
#pragma once

#include <string_view>

namespace framewire {

enum class LogLevel { error, warning, info, detail };

/// Where messages go. A program makes one (command/terminal_log.hpp, or its own) and passes it on; it outlives every
/// thread that logs. Any thread may call every member.
class Log {
 public:
  virtual ~Log() = default;

  /// `text` is without an end of line, and may hold what a peer said: it is unchecked.
  virtual void line(LogLevel level, std::string_view text) = 0;

  void error(std::string_view text) { line(LogLevel::error, text); }
  void warning(std::string_view text) { line(LogLevel::warning, text); }
  void info(std::string_view text) { line(LogLevel::info, text); }
  void detail(std::string_view text) { line(LogLevel::detail, text); }
};

}  // namespace framewire
