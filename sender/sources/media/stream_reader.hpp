// Exact, stoppable reads from a pipe, a socket or a file.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace framewire {

enum class ReadResult { whole, ended, stopped, too_long, failed };

/// Reads a descriptor that it does not own, and never more bytes than requested. Used by one thread. While no data
/// comes, it polls `is_stopping` about ten times a second.
class StreamReader {
 public:
  StreamReader(int fd, std::function<bool()> is_stopping) : fd_(fd), is_stopping_(std::move(is_stopping)) {}

  /// Fills `buffer`. After `ended`, filled_bytes() tells how many bytes came.
  ReadResult fill(std::span<std::byte> buffer);
  /// Reads up to a newline, which is not stored in `line`. `too_long` if there is none within `limit_bytes`.
  ReadResult read_line(std::string& line, std::size_t limit_bytes);
  /// Puts bytes back; they are read first next time.
  void put_back(const std::string& bytes) { put_back_.insert(0, bytes); }

  /// How many bytes the last fill() got.
  [[nodiscard]] std::size_t filled_bytes() const noexcept { return filled_bytes_; }
  [[nodiscard]] int error_number() const noexcept { return error_number_; }

 private:
  ReadResult read_some(std::span<std::byte> buffer, std::size_t& count);

  int fd_;
  std::function<bool()> is_stopping_;
  std::string put_back_;
  std::size_t filled_bytes_ = 0;
  int error_number_ = 0;
};

}  // namespace framewire
