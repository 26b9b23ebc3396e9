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
  /// Opens a named pipe, or duplicates `fd_for_dash` for "-"; throws Error that names the path. Any other `path` is
  /// opened, and emptied, by the first write(): until then there is nothing for which to lose what it holds. While a
  /// pipe is full, or a named pipe has no reader yet, `is_stopping` is polled at least ten times a second; empty: wait
  /// for ever.
  OutputFile(const std::string& path, std::function<bool()> is_stopping, int fd_for_dash = 1);

  /// Writes all parts in order, as one unit.
  WriteResult write(std::span<const std::span<const std::byte>> parts) noexcept;

  /// errno of the last failure.
  [[nodiscard]] int error_number() const noexcept { return error_number_; }

 private:
  bool open_file() noexcept;
  void look_at_file() noexcept;
  WriteResult write_part(std::span<const std::byte> part) noexcept;
  WriteResult wait_until_writable() noexcept;
  void take_back() noexcept;

  const std::string path_;
  FileDescriptor file_;  // invalid before the first write() to a file
  std::function<bool()> is_stopping_;
  bool is_regular_ = false;
  std::int64_t whole_bytes_ = 0;  // length of a regular file up to the end of its last whole unit
  int error_number_ = 0;
};

}  // namespace framewire
