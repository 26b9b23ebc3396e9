#include "command/terminal_log.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <utility>

#include "base/text.hpp"

namespace framewire {

namespace {

constexpr std::string_view clear_line = "\r\x1b[K";

void put(std::FILE* stream, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
}

/// Asked each time, because a window's size changes. A terminal that does not know it says 0.
std::size_t columns_of(std::FILE* terminal) {
  winsize size{};
  const bool is_known = ::ioctl(::fileno(terminal), TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
  return is_known ? size.ws_col : std::string_view::npos;
}

}  // namespace

TerminalLog::TerminalLog(std::FILE* stream, std::string program, LogLevel least)
    : stream_(stream), program_(std::move(program)), least_(least), is_terminal_(::isatty(::fileno(stream)) == 1) {}

void TerminalLog::line(LogLevel level, std::string_view text) {
  if (level > least_) {
    return;
  }
  std::string line;
  if (level == LogLevel::error) {
    line = program_ + ": " + printable_lines(text) + "\n";
  } else if (level == LogLevel::warning) {
    line = program_ + ": warning: " + printable_lines(text) + "\n";
  } else {
    line = printable_lines(text) + "\n";
  }
  const std::scoped_lock lock(mutex_);
  if (!live_.empty()) {
    put(stream_, clear_line);
  }
  put(stream_, line);
  put(stream_, live_);
  std::fflush(stream_);
}

void TerminalLog::live(std::string_view text) {
  const std::scoped_lock lock(mutex_);
  if (is_terminal_) {
    live_ = printable(text, columns_of(stream_) - 1);  // and "…"; a line that wraps could not be redrawn
    put(stream_, clear_line);
    put(stream_, live_);
  } else {
    put(stream_, printable(text) + "\n");
  }
  std::fflush(stream_);
}

void TerminalLog::end_live() {
  const std::scoped_lock lock(mutex_);
  if (!live_.empty()) {
    put(stream_, "\n");
    std::fflush(stream_);
    live_.clear();
  }
}

}  // namespace framewire
