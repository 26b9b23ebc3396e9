#include "pipe/pipe_size.hpp"

#include <fcntl.h>

namespace framewire {

void enlarge_pipe(int fd) noexcept {
  // More than the limit, or more than this user's pipes may have in all, is refused: then less.
  for (int bytes = 1 << 20; bytes > 1 << 16 && ::fcntl(fd, F_SETPIPE_SZ, bytes) < 0; bytes /= 2) {
  }
}

}  // namespace framewire
