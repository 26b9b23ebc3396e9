// Peers that come to a viewer's door and are no senders.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>

#include "base/file_descriptor.hpp"
#include "transport/session/door.hpp"
#include "transport/subscriber.hpp"

namespace framewire {

/// Says hello to who comes in, and serves guests, one at a time. Owned by the subscriber; greet() belongs to its
/// thread, the rest to any.
class Guests {
 public:
  /// With an empty `role` there are none.
  Guests(std::string role, ServeGuest serve, std::string program);

  /// Exchanges hellos as a viewer: true for a sender, whose session is to begin. A guest is served first, after which
  /// its channel can go. Throws Error (refused) for anybody else, and whatever a handshake throws.
  bool greet(Authenticated& authenticated, Door& door);

  /// Waits a moment for a guest to go: one that has just been served may have come again, or another.
  [[nodiscard]] bool is_free_soon();
  /// Ends what is being served, and lets nobody else begin.
  void end() noexcept;

 private:
  const std::string role_;
  const ServeGuest serve_;
  const std::string program_;
  std::mutex mutex_;
  std::condition_variable served_changed_;
  FileDescriptor served_fd_;  // a second one of its connection: the guest may be handed on; guarded by mutex_, as are:
  bool is_serving_ = false;
  bool has_ended_ = false;
};

}  // namespace framewire
