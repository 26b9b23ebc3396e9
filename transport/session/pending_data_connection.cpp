#include "transport/session/pending_data_connection.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "transport/session/data_link.hpp"

namespace framewire {

PendingDataConnection::PendingDataConnection(SessionAcceptor& acceptor, const DataConnectionId& connection,
                                             MessageChannel& channel)
    : acceptor_(acceptor),
      connection_(connection),
      channel_(channel),
      deadline_ns_(monotonic_ns() + data_connection_timeout_ns) {}

PendingDataConnection::~PendingDataConnection() {
  acceptor_.forget(connection_);
}

std::optional<IncomingDataConnection> PendingDataConnection::next() {
  constexpr std::int64_t poll_interval_ns = 50 * ns_per_ms;
  auto incoming = acceptor_.await_data(connection_, std::min(deadline_ns_, monotonic_ns() + poll_interval_ns));
  if (incoming) {
    return incoming;
  }
  if (!message_) {
    if (auto message = channel_.try_receive()) {
      message_ = std::make_unique<nlohmann::json>(std::move(*message));
    }
  }
  if (monotonic_ns() >= deadline_ns_) {
    throw Error::lost_peer(
        "the peer did not open its data connection in time; a firewall must let two connections to the port through");
  }
  return std::nullopt;
}

std::unique_ptr<nlohmann::json> PendingDataConnection::take_message() noexcept {
  return std::move(message_);
}

}  // namespace framewire
