// Writes recorded frames to a file or a pipe, in whole units. Internal to media/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/file_descriptor.hpp"

namespace framewire {

enum class WriteResult {
  written,
  reader_gone,  // the reader of the pipe has closed it
  stopped,      // is_stopping() was true while waiting for the reader
  failed,       // the disk is full, the device broke …
};

/// Used by one thread. A write() that fails leaves a regular file unchanged.
class OutputFile {
 public:
  /// Opens `path`, or duplicates `fd_for_dash` for "-". Throws Error that names the path. While a pipe is full, or a
  /// named pipe has no reader yet, `is_stopping` is polled at least ten times a second; empty: wait for ever.
  OutputFile(const std::string& path, std::function<bool()> is_stopping, int fd_for_dash = 1);

  /// Writes all parts in order, as one unit.
  WriteResult write(std::span<const std::span<const std::byte>> parts) noexcept;

  /// errno of the last failure.
  [[nodiscard]] int error_number() const noexcept { return error_number_; }

 private:
  WriteResult write_part(std::span<const std::byte> part) noexcept;
  WriteResult wait_until_writable() noexcept;
  void take_back() noexcept;

  FileDescriptor file_;
  std::function<bool()> is_stopping_;
  bool is_regular_ = false;
  std::int64_t whole_bytes_ = 0;  // length of a regular file up to the end of its last whole unit
  int error_number_ = 0;
};

}  // namespace framewire
