// Peers that do not answer: a host name, and a port. silent_peers.cpp replaces the C library's getaddrinfo() in the
// whole program.
#pragma once

#include <array>
#include <cstdint>
#include <semaphore>

#include "base/file_descriptor.hpp"

namespace framewire::test {

inline constexpr const char* silent_name = "silent.example";

/// The look-up of silent_name: getaddrinfo() blocks until end(), then fails. One at a time.
struct SilentLookUp {
  /// Returns once it is over, so that it takes nothing that belongs to the next one.
  void end() {
    may_end.release();
    has_ended.acquire();
  }
  std::binary_semaphore is_asked{0};
  std::binary_semaphore may_end{0};
  std::binary_semaphore has_ended{0};
};
SilentLookUp& silent_look_up() noexcept;

/// A port of 127.0.0.1 whose listen queue is full: a further connect() is neither accepted nor refused.
class FullPort {
 public:
  /// The test fails if it cannot be made.
  FullPort();
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

 private:
  FileDescriptor listening_;
  std::array<FileDescriptor, 4> waiting_;
  std::uint16_t port_ = 0;
};

}  // namespace framewire::test
