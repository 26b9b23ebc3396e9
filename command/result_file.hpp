// What a program writes at its end, into a file that its user has named.
#pragma once

#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"

namespace framewire {

/// A named pipe must not hold up the end of a program: one that nobody reads, or that takes nothing for a second, is an
/// error. Used by one thread.
class ResultFile {
 public:
  /// Whom messages are about: "the statistics", "--stats".
  struct Purpose {
    std::string_view what;
    std::string_view option;
  };
  /// Creates the file, or empties it. Throws Error.
  ResultFile(std::string path, Purpose purpose);
  /// Throws Error. A file that was not there before is removed then: a part of it looks like a result.
  void write(std::string_view text);

 private:
  void write_all(std::string_view text);
  void remove_if_new() noexcept;
  [[noreturn]] void fail_unread() const;

  const std::string path_;
  const Purpose purpose_;
  const bool is_pipe_;
  FileDescriptor file_;
  bool is_new_ = false;  // nothing had this name
};

}  // namespace framewire
