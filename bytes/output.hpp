// Where rdrecv's bytes go: standard output or a file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/file_descriptor.hpp"
#include "command/standard_streams.hpp"

namespace framewire {

/// One thread.
class Output {
 public:
  /// Creates or truncates the file `path` (or appends to it, with `appends`), or uses standard output for "-". Waits
  /// for the reader of a named pipe. Makes a pipe as large as an ordinary user may. `is_stopping` is called at least
  /// ten times a second while nobody reads. Throws Error that names the path. If the file has the identity
  /// `source_file` (bytes/file_identity.hpp), it throws and leaves the file unchanged.
  Output(const std::string& path, std::function<bool()> is_stopping, bool appends = false,
         const std::string& source_file = {});

  /// Writes all bytes. Returns false on failure; error() says why.
  bool write(std::span<const std::byte> bytes) noexcept;
  /// Call after the last byte. Reports the errors that a file system only reports when a file is closed. With
  /// `is_durable` it also waits until all bytes are on the disk. Returns false as write() does.
  bool finish(bool is_durable) noexcept;

  /// After finish(): the bytes are on the disk, and so is the directory entry of a named file. Always false for a pipe.
  [[nodiscard]] bool is_durable() const noexcept { return is_durable_; }
  [[nodiscard]] std::uint64_t written_bytes() const noexcept { return written_bytes_; }
  [[nodiscard]] bool has_no_reader() const noexcept { return framewire::has_no_reader(file_.get()); }
  /// One sentence after a failure, else empty.
  [[nodiscard]] const std::string& error() const noexcept { return error_; }
  /// Time spent writing and waiting for the reader.
  [[nodiscard]] std::int64_t spent_ns() const noexcept { return spent_ns_; }

 private:
  void require_other_file(const std::string& source_file) const;
  bool write_all(std::span<const std::byte> bytes) noexcept;
  [[nodiscard]] ssize_t write_some(std::span<const std::byte> bytes) const noexcept;
  bool wait_until_writable() noexcept;
  bool make_durable() noexcept;
  bool fail(const std::string& doing, int error_number) noexcept;

  std::string name_;
  std::function<bool()> is_stopping_;
  FileDescriptor file_;
  std::string folder_;  // of a named file; else empty
  bool is_socket_ = false;
  bool is_durable_ = false;
  std::uint64_t written_bytes_ = 0;
  std::int64_t spent_ns_ = 0;
  std::string error_;
};

}  // namespace framewire
