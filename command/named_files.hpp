// The files that a command line names: which of them a program reads, and into which it writes its results.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command/line_port.hpp"

namespace framewire {

/// Collects them, and refuses a result that would destroy another file of the same command line. A file is known by its
/// device and inode, so also by another path or link; one that is not there yet by its folder and name. Terminals and
/// other character devices are no files to protect, nor are folders. One thread.
///
/// `what` is how messages call a file: "SOURCE", "--key". `text` is what its user typed for it, in which the path may
/// be only a part ("gl:FILE"); empty: nothing.
class NamedFiles {
 public:
  /// A file that is read, or written while the program runs.
  void uses(std::string_view what, std::string_view text, const std::string& path);
  /// An open descriptor, such as a standard stream. One that is not open is ignored.
  void uses(std::string_view what, std::string_view text, int fd);
  /// Those of --messages or --events.
  void uses(std::string_view option, const PortDescriptors& port);
  /// The key file, also if it is the default one; nothing: there is none.
  void uses_key(const std::optional<std::string>& file);
  /// A file that the program makes, or empties.
  void writes(std::string_view option, const std::string& path);

  /// Throws Error (usage) if a result is another result, or a file that is used.
  void require_distinct() const;

 private:
  struct Place {
    dev_t device = 0;
    ino_t inode = 0;     // of the folder, if the file is not there
    std::string name{};  // of a file that is not there
    bool operator==(const Place&) const = default;
  };
  struct Named {
    std::string what;  // with its text
    std::string option;
    Place place;
    bool is_result = false;
  };

  static std::optional<Place> place_of(const struct stat& status);
  static std::optional<Place> place_of(const std::string& path);
  void add(std::string_view what, std::string_view text, const std::optional<Place>& place, bool is_result);

  std::vector<Named> files_;
};

/// Throws Error if `file` of option `what` cannot be written. Called at the start, so that a long run does not fail at
/// its end. The file stays as it is; a named pipe needs no reader yet.
void require_writable(const std::string& file, std::string_view what);

}  // namespace framewire
