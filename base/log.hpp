// The programs' messages while they run: plain lines on stderr, and one live line on a terminal.
#pragma once

#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace framewire {

enum class LogLevel { error, warning, info, detail };

/// Writes lines for a person to one stream. `main` creates it and passes it on; it outlives every thread that logs.
/// Every member may be called from any thread.
class Log {
 public:
  /// `program` prefixes errors and warnings ("framewire send: …"). `details` shows LogLevel::detail (--verbose).
  Log(std::FILE* stream, std::string program, bool details)
      : Log(stream, std::move(program), details ? LogLevel::detail : LogLevel::info) {}
  /// Shows only `least` and more severe levels.
  Log(std::FILE* stream, std::string program, LogLevel least);

  void line(LogLevel level, std::string_view text);
  void error(std::string_view text) { line(LogLevel::error, text); }
  void warning(std::string_view text) { line(LogLevel::warning, text); }
  void info(std::string_view text) { line(LogLevel::info, text); }
  void detail(std::string_view text) { line(LogLevel::detail, text); }

  /// On a terminal: redraws one line in place, under all other lines. Elsewhere: prints it as a plain line.
  void live(std::string_view text);

  /// Ends the live line, so that what follows starts on a fresh one.
  void end_live();

  /// Whether live() redraws in place.
  [[nodiscard]] bool is_terminal() const noexcept { return is_terminal_; }

 private:
  std::FILE* stream_;
  std::string program_;
  LogLevel least_;
  bool is_terminal_;
  std::mutex mutex_;
  std::string live_;
};

}  // namespace framewire
