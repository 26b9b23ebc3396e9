// How the two processes of a local link wake each other: by bytes over a pair of Unix sockets, whose ends have no flags
// in common. An eventfd is one file for both: a peer that made it blocking, and full, would put to sleep whoever raises
// it.
#pragma once

#include <utility>

#include "base/file_descriptor.hpp"
#include "transport/link.hpp"

namespace framewire {

/// Both ends: this process's, and the one to hand over. Throws Error.
std::pair<FileDescriptor, FileDescriptor> make_wake_sockets();

/// Throws Error where `fd`, which the peer handed over, is something else than such an end.
void require_wake_socket(int fd);

/// Makes the other end readable. Never waits: whoever has not taken so many wakes is awake. Any thread.
void send_wake(int wake_socket) noexcept;

enum class Wakes {
  taken,  // those that there were, perhaps none
  over,   // the peer has closed its end: this one stays readable
};
/// Takes what woke this end; at most so much that a peer that never stops keeps nobody in here.
Wakes take_wakes(int wake_socket) noexcept;

/// This process's end, as what wakes the peer: stays open as long as anybody is about to do so.
class WakeSocket final : public PeerWaker {
 public:
  explicit WakeSocket(FileDescriptor socket) noexcept : socket_(std::move(socket)) {}

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  void wake() noexcept override { send_wake(socket_.get()); }

 private:
  FileDescriptor socket_;
};

}  // namespace framewire
