// Sleeping until more comes behind bytes that were looked at and left in a socket.
#pragma once

#include <cstdint>

#include "base/file_descriptor.hpp"

namespace framewire {

/// poll() returns at once for bytes that are there already, and SO_RCVLOWAT does not change that on a Unix socket. An
/// edge-triggered epoll wakes once for each arrival, on both. One thread; the socket stays the caller's.
class MoreBytes {
 public:
  enum class Came {
    more,     // something since the last return; the first time, also what was there before
    end,      // the same, and nothing will follow
    nothing,  // until the deadline; or the socket could not be watched, for want of descriptors
  };

  explicit MoreBytes(int fd) noexcept;
  Came wait(std::int64_t deadline_ns) noexcept;

 private:
  FileDescriptor epoll_;
};

}  // namespace framewire
