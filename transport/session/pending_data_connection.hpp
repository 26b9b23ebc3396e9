// Waiting for a data connection that the peer dials, while the peer may say that it will not.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "transport/control/message_channel.hpp"
#include "transport/session/session_acceptor.hpp"

namespace framewire {

/// One thread: the session's. Acceptor and channel outlive it.
class PendingDataConnection {
 public:
  PendingDataConnection(SessionAcceptor& acceptor, const DataConnectionId& connection, MessageChannel& channel);
  ~PendingDataConnection();
  PendingDataConnection(const PendingDataConnection&) = delete;
  PendingDataConnection& operator=(const PendingDataConnection&) = delete;

  /// Waits a little. Returns the connection if it is there; nothing when there may be a message(), or to look around.
  /// Throws Error (lost_peer) when it did not come in time, when the peer has hung up, and when this end stops.
  std::optional<IncomingDataConnection> next();

  /// What the peer said meanwhile, or none. One message: those after it stay where they are.
  [[nodiscard]] const nlohmann::json* message() const noexcept { return message_.get(); }
  [[nodiscard]] std::unique_ptr<nlohmann::json> take_message() noexcept;

 private:
  SessionAcceptor& acceptor_;
  const DataConnectionId connection_;
  MessageChannel& channel_;
  const std::int64_t deadline_ns_;
  std::unique_ptr<nlohmann::json> message_;
};

}  // namespace framewire
