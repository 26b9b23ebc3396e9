// Where rdsend's bytes come from: standard input or a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/file_descriptor.hpp"
#include "bytes/file_identity.hpp"
#include "transport/link.hpp"

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

  /// A regular file's next bytes, at most so many, without reading them; nothing where there are none that it had when
  /// it was opened. read() goes on behind them.
  [[nodiscard]] FileRange skip(std::uint64_t& bytes);
  /// Whether the last of what was skipped, so many bytes at most, cannot be read or is no longer there: whoever did
  /// read it was only told that it failed. error() says so then.
  bool has_failed_behind(std::uint64_t max_bytes);

  /// What names the file to a receiver; empty where it is none. See bytes/file_identity.hpp.
  [[nodiscard]] std::string identity() const { return file_identity(file_.get()); }
  /// What a regular file had to give when it was opened.
  [[nodiscard]] std::optional<std::uint64_t> size_bytes() const noexcept { return size_bytes_; }
  /// A sentence, when it has failed.
  [[nodiscard]] const std::string& error() const noexcept { return error_; }
  /// Spent in waiting for bytes and reading them.
  [[nodiscard]] std::int64_t spent_ns() const noexcept { return spent_ns_; }

 private:
  Read read_what_is_there(std::span<std::byte> buffer);
  bool has_more_now() const noexcept;
  bool has_shrunk();
  bool is_made_up() const noexcept;
  ReadState end_of_file();
  ReadState fail(int error_number);

  std::string name_;
  std::function<bool()> is_stopping_;
  FileDescriptor file_;
  std::optional<std::uint64_t> size_bytes_;
  bool is_terminal_ = false;
  std::uint64_t begin_bytes_ = 0;  // where a regular file stood when it was opened
  std::uint64_t read_bytes_ = 0;   // or skipped
  std::int64_t spent_ns_ = 0;
  std::string error_;
};

}  // namespace framewire
