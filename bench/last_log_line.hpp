// What a log was last told.
#pragma once

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

namespace framewire {

/// A stream for a Log that keeps the last line: what goes wrong while a row's connection is made is only said to a log,
/// and wanted when nothing comes of it. Outlives the log. Any thread.
class LastLogLine {
 public:
  /// `passes_on`: every line goes to standard error, too.
  explicit LastLogLine(bool passes_on);
  LastLogLine(const LastLogLine&) = delete;
  LastLogLine& operator=(const LastLogLine&) = delete;

  [[nodiscard]] std::FILE* stream() const noexcept { return stream_.get(); }
  /// Empty where there was none since forget().
  [[nodiscard]] std::string last() const;
  void forget();

 private:
  void take(const char* text, std::size_t size);

  const bool passes_on_;
  mutable std::mutex mutex_;
  std::string last_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream_;
};

}  // namespace framewire
