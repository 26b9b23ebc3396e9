// Waits for a data connection from the peer, which may also send a message that it cannot dial.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

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

  /// Waits for the connection or a message. Returns the connection if it has arrived; after nullopt there may be a
  /// message(). Throws Error: lost_peer at the deadline, when the peer closes the channel, and when this side
  /// stops; failed when the peer sends more than max_messages or max_kept_bytes.
  std::optional<IncomingDataConnection> next();

  /// The message that arrived in the last next(), or null.
  [[nodiscard]] const nlohmann::json* message() const noexcept;
  [[nodiscard]] std::unique_ptr<nlohmann::json> take_message();
  /// The messages that nobody took, in order: they are about the connection, which the peer considers open already.
  [[nodiscard]] std::vector<nlohmann::json> take_messages() noexcept;

  /// More than a peer has to say before its connection stands: a clock question or some epochs, and a bye.
  static constexpr std::size_t max_messages = 16;
  /// Their text in all. Parsed it takes a few times as much.
  static constexpr std::size_t max_kept_bytes = std::size_t{256} * 1024;

 private:
  SessionAcceptor& acceptor_;
  const DataConnectionId connection_;
  MessageChannel& channel_;
  const std::int64_t deadline_ns_;
  const SharedEvent arrived_ = make_shared_event();
  std::vector<nlohmann::json> messages_;
  std::size_t kept_bytes_ = 0;
  bool has_new_message_ = false;  // the last of messages_ arrived in the last next()
};

}  // namespace framewire
