// Waits for a data connection from the peer, which may also send a message that it cannot dial.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "transport/control/message_channel.hpp"
#include "transport/session/session_acceptor.hpp"

namespace framewire {

/// Session thread only. Acceptor and channel outlive it.
class PendingDataConnection {
 public:
  PendingDataConnection(SessionAcceptor& acceptor, const DataConnectionId& connection, MessageChannel& channel);
  ~PendingDataConnection();
  PendingDataConnection(const PendingDataConnection&) = delete;
  PendingDataConnection& operator=(const PendingDataConnection&) = delete;

  /// Waits briefly. Returns the connection if it has arrived. Returns nullopt so that the caller can check message()
  /// and its own state. Throws Error (lost_peer) at the deadline, when the peer closes the channel, and when this side
  /// stops.
  std::optional<IncomingDataConnection> next();

  /// The message that the peer has sent meanwhile, or null. Holds one message; later ones stay in the channel.
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
