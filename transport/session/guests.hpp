// Peers that come to a viewer's door and are no senders.
#pragma once

#include <mutex>
#include <string>

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

  [[nodiscard]] bool is_serving() const;
  /// Ends what is being served, and lets nobody else begin.
  void end() noexcept;

 private:
  const std::string role_;
  const ServeGuest serve_;
  const std::string program_;
  mutable std::mutex mutex_;
  MessageChannel* served_ = nullptr;  // guarded by mutex_, as is:
  bool has_ended_ = false;
};

}  // namespace framewire
