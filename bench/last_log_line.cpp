#include "bench/last_log_line.hpp"

#include <sys/types.h>

#include <cerrno>
#include <string_view>

#include "base/error.hpp"

namespace framewire {

LastLogLine::LastLogLine(bool passes_on) : passes_on_(passes_on), stream_(nullptr, &std::fclose) {
  const cookie_io_functions_t functions{.read = nullptr,
                                        .write = [](void* self, const char* text, std::size_t size) -> ssize_t {
                                          static_cast<LastLogLine*>(self)->take(text, size);
                                          return static_cast<ssize_t>(size);
                                        },
                                        .seek = nullptr,
                                        .close = nullptr};
  stream_.reset(::fopencookie(this, "w", functions));
  if (!stream_) {
    throw Error::from_errno("make a stream", errno);
  }
}

std::string LastLogLine::last() const {
  const std::scoped_lock lock(mutex_);
  return last_;
}

void LastLogLine::forget() {
  const std::scoped_lock lock(mutex_);
  last_.clear();
}

void LastLogLine::take(const char* text, std::size_t size) {
  if (passes_on_) {
    std::fwrite(text, 1, size, stderr);
  }
  std::string_view line(text, size);
  line = line.substr(0, line.find_last_not_of('\n') + 1);
  line = line.substr(line.find_last_of('\n') + 1);
  if (!line.empty()) {
    const std::scoped_lock lock(mutex_);
    last_ = line;
  }
}

}  // namespace framewire
