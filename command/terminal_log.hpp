// The programs' messages while they run: plain lines on stderr, and one live line on a terminal.
#pragma once

#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/log.hpp"

namespace framewire {

/// Writes lines for a person to one stream. `main` makes it. Every member may be called from any thread.
class TerminalLog final : public Log {
 public:
  /// `program` prefixes errors and warnings ("framewire send: …"). `details` shows LogLevel::detail (--verbose).
  TerminalLog(std::FILE* stream, std::string program, bool details)
      : TerminalLog(stream, std::move(program), details ? LogLevel::detail : LogLevel::info) {}
  /// Shows only `least` and more severe levels.
  TerminalLog(std::FILE* stream, std::string program, LogLevel least);

  void line(LogLevel level, std::string_view text) override;

  /// On a terminal: redraws one line in place, under all other lines, and cuts it to the terminal's width. Elsewhere:
  /// prints it as a plain line.
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
