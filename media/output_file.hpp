// Where recorded frames go: a file, or a pipe to another program. Whole units or nothing. Internal to media/.
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
  reader_gone,  // the program at the other end of the pipe has closed it
  stopped,      // is_stopping() was true while it waited for the reader
  failed,       // the disk is full, the device broke …
};

/// One thread. A write() that does not come to its end leaves a regular file as it was before.
class OutputFile {
 public:
  /// Opens `path`, or takes a duplicate of `fd_for_dash` for "-". Throws Error that names the path. `is_stopping` is
  /// asked about ten times a second while a pipe is full; empty: wait for ever.
  OutputFile(const std::string& path, std::function<bool()> is_stopping, int fd_for_dash = 1);

  /// Writes all parts, one after another, as one unit.
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
  std::int64_t whole_bytes_ = 0;  // where the last whole unit ends in a regular file
  int error_number_ = 0;
};

}  // namespace framewire
