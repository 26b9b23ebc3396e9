// Waits for more bytes after those that MSG_PEEK has left in a socket.
#pragma once

#include <cstdint>

#include "base/file_descriptor.hpp"

namespace framewire {

/// poll() returns at once for bytes that are already there, and SO_RCVLOWAT does not change that on a Unix socket. An
/// edge-triggered epoll wakes once for each arrival on both kinds of socket. One thread; the caller owns the socket.
class MoreBytes {
 public:
  enum class Came {
    more,     // new bytes since the last return; the first call also counts earlier ones
    end,      // the same, and the peer has closed
    nothing,  // none until the deadline; or epoll failed because no descriptor was free
  };

  explicit MoreBytes(int fd) noexcept;
  Came wait(std::int64_t deadline_ns) noexcept;

 private:
  FileDescriptor epoll_;
};

}  // namespace framewire
