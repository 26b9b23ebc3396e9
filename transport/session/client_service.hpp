// Serves peers of a viewer's acceptor that are not senders, such as bench clients.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>

#include "base/file_descriptor.hpp"
#include "transport/session/session_acceptor.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {

/// Exchanges hellos with incoming peers and serves clients, one at a time. Owned by the subscriber. greet() belongs to
/// the subscriber's thread; any thread may call the other functions.
class ClientService {
 public:
  /// With an empty `role` it serves no clients.
  ClientService(std::string role, ServeClient serve, std::string program);

  /// Exchanges hellos as a viewer. Returns true for a sender, whose session then begins. Serves a client to its end and
  /// returns false. Throws Error (refused) for any other peer, and the handshake's errors.
  bool greet(AuthenticatedChannel& authenticated, SessionAcceptor& acceptor);

  /// Whether no client is being served. Waits up to one second for the current one, since a client may reconnect at
  /// once.
  [[nodiscard]] bool is_free_soon();
  /// Ends the current client, and refuses further ones.
  void end() noexcept;

 private:
  const std::string role_;
  const ServeClient serve_;
  const std::string program_;
  std::mutex mutex_;
  std::condition_variable served_changed_;
  FileDescriptor served_fd_;  // a second descriptor of its connection, as the client may be moved; guarded by mutex_,
                              // like the members below
  bool is_serving_ = false;
  bool has_ended_ = false;
};

}  // namespace framewire
