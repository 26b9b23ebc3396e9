// A terminal log that a test reads.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "command/terminal_log.hpp"

namespace framewire::test {

/// The log of a program without --verbose, in memory. Any thread may write to it.
class KeptTerminalLog {
 public:
  std::string text() {
    ::flockfile(stream_.get());
    std::fflush(stream_.get());
    std::string text = text_ == nullptr ? "" : std::string(text_, size_);
    ::funlockfile(stream_.get());
    return text;
  }
  TerminalLog& log() { return log_; }
  ~KeptTerminalLog() {
    stream_.reset();
    std::free(text_);  // NOLINT(cppcoreguidelines-no-malloc): open_memstream() allocated it
  }
  KeptTerminalLog() = default;
  KeptTerminalLog(const KeptTerminalLog&) = delete;
  KeptTerminalLog& operator=(const KeptTerminalLog&) = delete;

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream_{::open_memstream(&text_, &size_), &std::fclose};
  TerminalLog log_{stream_.get(), "test", false};
};

}  // namespace framewire::test
