// Waiting for a data connection that the peer dials, while the peer may say that it will not.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "transport/control/message_channel.hpp"
#include "transport/session/door.hpp"

namespace framewire {

/// One thread: the session's. Door and channel outlive it.
class DataWait {
 public:
  DataWait(Door& door, const DataConnection& connection, MessageChannel& channel);
  ~DataWait();
  DataWait(const DataWait&) = delete;
  DataWait& operator=(const DataWait&) = delete;

  /// Waits a little. Returns the connection if it is there; nothing when there may be a message(), or to look around.
  /// Throws Error (lost_peer) when it did not come in time, when the peer has hung up, and when this end stops.
  std::optional<Arrival> next();

  /// What the peer said meanwhile, or none. One message: those after it stay where they are.
  [[nodiscard]] const nlohmann::json* message() const noexcept { return message_.get(); }
  [[nodiscard]] std::unique_ptr<nlohmann::json> take_message() noexcept;

 private:
  Door& door_;
  const DataConnection connection_;
  MessageChannel& channel_;
  const std::int64_t deadline_ns_;
  std::unique_ptr<nlohmann::json> message_;
};

}  // namespace framewire
