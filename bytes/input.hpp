// Where rdsend's bytes come from: standard input or a file.
#pragma once

#include <time.h>

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
  more,     // more bytes may follow
  ended,    // end of input
  stopped,  // is_stopping() was true while there was nothing to read
  failed,   // error() says why; never treat this as the end
};

/// One thread.
class Input {
 public:
  /// Opens `path`, or duplicates standard input for "-". Never blocks, not even for the writer of a named pipe. Makes a
  /// pipe as large as an ordinary user may. `is_stopping` is called about ten times a second while there is nothing to
  /// read. Throws Error that names the path.
  Input(const std::string& path, std::function<bool()> is_stopping);

  struct Read {
    std::size_t bytes = 0;
    ReadState state = ReadState::more;
  };
  /// Waits for the first byte, then reads what is available: until the buffer is full, or as much as has been written
  /// so far. For a regular file it fills the buffer.
  Read read(std::span<std::byte> buffer);

  /// Skips up to `bytes` bytes of a regular file without reading them. Returns their range and sets `bytes` to its
  /// length. Covers only bytes that the file had when it was opened; empty if none are left. read() continues after
  /// them. Throws Error.
  [[nodiscard]] FileRange skip(std::uint64_t& bytes);
  /// Reads bytes that were skipped, from `offset_bytes` of the file on, until the buffer is full. Returns false after a
  /// failure, also if the file has become shorter; error() then says why.
  bool read_skipped(std::uint64_t offset_bytes, std::span<std::byte> buffer);
  /// Whether reading a part twice gives the same bytes: a regular file that the kernel does not generate, and to which
  /// nobody has written since it was opened, as its time says.
  [[nodiscard]] bool is_unchanged() const noexcept;
  /// Whether any of the last `max_bytes` skipped bytes can no longer be read. The caller that read them only learned
  /// that the read failed; error() then says why.
  bool has_failed_behind(std::uint64_t max_bytes);

  /// Identifies the file to the receiver; empty if this is no file. See bytes/file_identity.hpp.
  [[nodiscard]] std::string identity() const { return file_identity(file_.get()); }
  /// Bytes left in a regular file when it was opened.
  [[nodiscard]] std::optional<std::uint64_t> size_bytes() const noexcept { return size_bytes_; }
  /// One sentence after a failure, else empty.
  [[nodiscard]] const std::string& error() const noexcept { return error_; }
  /// Time spent waiting for bytes and reading them.
  [[nodiscard]] std::int64_t spent_ns() const noexcept { return spent_ns_; }

 private:
  Read read_what_is_there(std::span<std::byte> buffer);
  bool read_at(std::uint64_t offset_bytes, std::span<std::byte> buffer);
  bool has_more_now() const noexcept;
  bool has_shrunk();
  ReadState end_of_file();
  ReadState fail(int error_number);

  std::string name_;
  std::function<bool()> is_stopping_;
  FileDescriptor file_;
  std::optional<std::uint64_t> size_bytes_;
  bool is_terminal_ = false;
  bool is_made_up_ = false;        // by the kernel, when it is read: its size means nothing
  timespec written_at_{};          // when somebody last wrote to a regular file, as it was opened
  std::uint64_t begin_bytes_ = 0;  // a regular file's offset when it was opened
  std::uint64_t read_bytes_ = 0;   // or skipped
  std::int64_t spent_ns_ = 0;
  std::string error_;
};

}  // namespace framewire
