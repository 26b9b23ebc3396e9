// Peers that come to a viewer's acceptor and are no senders.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>

#include "base/file_descriptor.hpp"
#include "transport/session/session_acceptor.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {

/// Says hello to who comes in, and serves clients, one at a time. Owned by the subscriber; greet() belongs to its
/// thread, the rest to any.
class ClientService {
 public:
  /// With an empty `role` there are none.
  ClientService(std::string role, ServeClient serve, std::string program);

  /// Exchanges hellos as a viewer: true for a sender, whose session is to begin. A client is served first, after which
  /// its channel can go. Throws Error (refused) for anybody else, and whatever a handshake throws.
  bool greet(AuthenticatedChannel& authenticated, SessionAcceptor& acceptor);

  /// Waits a moment for a client to go: one that has just been served may have come again, or another.
  [[nodiscard]] bool is_free_soon();
  /// Ends what is being served, and lets nobody else begin.
  void end() noexcept;

 private:
  const std::string role_;
  const ServeClient serve_;
  const std::string program_;
  std::mutex mutex_;
  std::condition_variable served_changed_;
  FileDescriptor served_fd_;  // a second one of its connection: the client may be handed on; guarded by mutex_, as are:
  bool is_serving_ = false;
  bool has_ended_ = false;
};

}  // namespace framewire
