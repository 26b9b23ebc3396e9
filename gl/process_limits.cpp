#include "gl/process_limits.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"

namespace framewire {

void require_room_for_opengl() {
  rlimit space{};
  if (::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur < min_address_space_bytes) {
    throw Error::failed("this process may have only " + format_bytes(space.rlim_cur) +
                        " of address space, and drawing with OpenGL needs " + format_bytes(min_address_space_bytes) +
                        "; raise that by 'ulimit -v unlimited'");
  }
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= min_open_files) {
    return;
  }
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, min_open_files);
  if (files.rlim_cur < min_open_files || ::setrlimit(RLIMIT_NOFILE, &files) != 0) {
    throw Error::failed("this process may have only " + std::to_string(files.rlim_cur) +
                        " files open at once, and drawing with OpenGL needs " + std::to_string(min_open_files) +
                        "; raise that by 'ulimit -n 1024'");
  }
}

}  // namespace framewire
