// Where rdrecv's bytes go: standard output or a file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/file_descriptor.hpp"

namespace framewire {

/// Whether `fd` is a pipe or socket that nobody reads (any more).
bool has_no_reader(int fd) noexcept;

/// One thread.
class Output {
 public:
  /// Makes or empties the file `path` (or goes on behind its end, if it `appends`), or takes standard output for "-".
  /// Waits for the reader of a named pipe. A pipe is made as large as an ordinary user may have it. `is_stopping` is
  /// asked at least ten times a second while nobody reads. Throws Error that names the path; where it is the file that
  /// has the identity `source_file` (bytes/file_identity.hpp), that file is left as it is.
  Output(const std::string& path, std::function<bool()> is_stopping, bool appends = false,
         const std::string& source_file = {});

  /// All of it; false when it cannot be, and error() says why.
  bool write(std::span<const std::byte> bytes) noexcept;
  /// Behind the last byte: what a file system only says at the end of a file, it says now; and with `is_durable` all of
  /// it stands on the disk. False as above.
  bool finish(bool is_durable) noexcept;

  /// After finish(): what was written stands on the disk, and so does the name of a file that was named. Never of a
  /// pipe.
  [[nodiscard]] bool is_durable() const noexcept { return is_durable_; }
  [[nodiscard]] std::uint64_t written_bytes() const noexcept { return written_bytes_; }
  [[nodiscard]] bool has_no_reader() const noexcept { return framewire::has_no_reader(file_.get()); }
  /// A sentence, when it has failed.
  [[nodiscard]] const std::string& error() const noexcept { return error_; }
  /// Spent in writing and in waiting for the reader.
  [[nodiscard]] std::int64_t spent_ns() const noexcept { return spent_ns_; }

 private:
  [[nodiscard]] FileDescriptor open_pipe(const std::string& path) const;
  void require_other_file(const std::string& source_file) const;
  bool write_all(std::span<const std::byte> bytes) noexcept;
  [[nodiscard]] ssize_t write_some(std::span<const std::byte> bytes) const noexcept;
  bool wait_until_writable() noexcept;
  bool make_durable() noexcept;
  bool fail(const std::string& doing, int error_number) noexcept;

  std::string name_;
  std::function<bool()> is_stopping_;
  FileDescriptor file_;
  std::string folder_;  // of a file that is named; else empty
  bool is_socket_ = false;
  bool is_durable_ = false;
  std::uint64_t written_bytes_ = 0;
  std::int64_t spent_ns_ = 0;
  std::string error_;
};

}  // namespace framewire
