#include "base/error.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <system_error>

namespace framewire {

ExitStatus exit_status_of(const std::exception& error) noexcept {
  const auto* const own = dynamic_cast<const Error*>(&error);
  return own != nullptr ? own->status() : ExitStatus::failed;
}

std::string errno_text(int error_number) {
  return std::generic_category().message(error_number);
}

namespace {

/// Drivers and libraries open many files: a person should hear which limit is too low, and how to raise it.
std::string open_files_advice() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) {
    return {};
  }
  return "; this process may have only " + std::to_string(files.rlim_cur) + " files open at once: raise ulimit -n";
}

}  // namespace

Error Error::from_errno(std::string_view doing, int error_number) {
  return failed("cannot " + std::string(doing) + ": " + errno_text(error_number) +
                (error_number == EMFILE ? open_files_advice() : std::string()));
}

Error Error::with_context(std::string_view context) const {
  return {status_, std::string(context) + ": " + what()};
}

}  // namespace framewire
