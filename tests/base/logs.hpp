// Logs of tests.
#pragma once

#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

#include "base/log.hpp"

namespace framewire::test {

/// A log that a test reads: a line of text for each message. Any thread may call every member.
class KeptLog final : public Log {
 public:
  void line(LogLevel level, std::string_view text) override {
    if (level == LogLevel::detail && !keeps_details_) {
      return;
    }
    const std::scoped_lock lock(mutex_);
    text_.append(text).append("\n");
  }

  [[nodiscard]] std::string text() const {
    const std::scoped_lock lock(mutex_);
    return text_;
  }

  explicit KeptLog(bool keeps_details = false) : keeps_details_(keeps_details) {}

 private:
  const bool keeps_details_;
  mutable std::mutex mutex_;
  std::string text_;
};

/// A log that the reader of a failed test sees, without details. Any thread may call every member.
class ShownLog final : public Log {
 public:
  void line(LogLevel level, std::string_view text) override {
    if (level < LogLevel::detail) {
      std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
    }
  }
};

}  // namespace framewire::test
