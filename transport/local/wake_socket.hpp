// How the two processes of a local link wake each other: by bytes over a socketpair, whose two sockets have separate
// file flags. An eventfd is one open file for both processes: a peer could make it blocking and fill it, and the next
// write would block.
#pragma once

#include <utility>

#include "base/file_descriptor.hpp"
#include "transport/link.hpp"

namespace framewire {

/// This process's socket, and the peer's. Throws Error.
std::pair<FileDescriptor, FileDescriptor> make_wake_sockets();

/// Throws Error if `fd`, received from the peer, is not such a socket.
void require_wake_socket(int fd);

/// Makes the peer's socket readable. Never blocks: when the socket buffer is full, the peer has unread wakes and is
/// awake. Any thread.
void send_wake(int wake_socket) noexcept;

enum class PeerState {
  open,
  closed,  // the peer has closed its socket; this one stays readable
};
/// Reads the pending wakes, if any. Bounded, so that a peer that writes without pause cannot hold the thread here.
PeerState take_wakes(int wake_socket) noexcept;

/// This process's socket as a PeerWaker. Shared, so it stays open while any thread is about to call wake().
class WakeSocket final : public PeerWaker {
 public:
  explicit WakeSocket(FileDescriptor socket) noexcept : socket_(std::move(socket)) {}

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  void wake() noexcept override { send_wake(socket_.get()); }

 private:
  FileDescriptor socket_;
};

}  // namespace framewire
