// Where rdsend's bytes come from: standard input or a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/file_descriptor.hpp"

namespace framewire {

enum class ReadState {
  more,     // what was read is not all there is
  ended,    // nor will more come
  stopped,  // is_stopping() was true while nothing came
  failed,   // error() says why: never to be taken for the end
};

/// One thread.
class Input {
 public:
  /// Opens `path`, or takes a duplicate of standard input for "-"; waits for nobody, not even for the writer of a named
  /// pipe. A pipe is made as large as an ordinary user may have it. `is_stopping` is asked about ten times a second
  /// while nothing comes. Throws Error that names the path.
  Input(const std::string& path, std::function<bool()> is_stopping);

  struct Read {
    std::size_t bytes = 0;
    ReadState state = ReadState::more;
  };
  /// Waits for the first byte, and takes what is there then: as much as the buffer holds, or all that has been written
  /// so far. A regular file fills the buffer.
  Read read(std::span<std::byte> buffer);

  /// What a regular file had to give when it was opened.
  [[nodiscard]] std::optional<std::uint64_t> size_bytes() const noexcept { return size_bytes_; }
  /// A sentence, when it has failed.
  [[nodiscard]] const std::string& error() const noexcept { return error_; }
  /// Spent in waiting for bytes and reading them.
  [[nodiscard]] std::int64_t spent_ns() const noexcept { return spent_ns_; }

 private:
  Read read_what_is_there(std::span<std::byte> buffer);
  bool has_more_now() const noexcept;
  ReadState end_of_file();
  ReadState fail(int error_number);

  std::string name_;
  std::function<bool()> is_stopping_;
  FileDescriptor file_;
  std::optional<std::uint64_t> size_bytes_;
  bool is_terminal_ = false;
  std::uint64_t read_bytes_ = 0;
  std::int64_t spent_ns_ = 0;
  std::string error_;
};

}  // namespace framewire
