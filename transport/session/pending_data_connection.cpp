#include "transport/session/pending_data_connection.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
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
  has_new_message_ = false;
  auto incoming = acceptor_.await_data(connection_, std::min(deadline_ns_, monotonic_ns() + poll_interval_ns));
  if (incoming) {
    return incoming;
  }
  if (auto message = channel_.try_receive()) {
    kept_bytes_ += message->dump().size();
    if (messages_.size() == max_messages || kept_bytes_ > max_kept_bytes) {
      throw Error::failed(
          "the peer sent too many messages before its data connection; bring both ends to the same "
          "release");
    }
    messages_.push_back(std::move(*message));
    has_new_message_ = true;
  }
  if (monotonic_ns() >= deadline_ns_) {
    throw Error::lost_peer(
        "the peer did not open its data connection in time; a firewall must let two connections to the port through");
  }
  return std::nullopt;
}

const nlohmann::json* PendingDataConnection::message() const noexcept {
  return has_new_message_ ? &messages_.back() : nullptr;
}

std::unique_ptr<nlohmann::json> PendingDataConnection::take_message() {
  auto message = std::make_unique<nlohmann::json>(std::move(messages_.back()));
  messages_.pop_back();
  has_new_message_ = false;
  return message;
}

std::vector<nlohmann::json> PendingDataConnection::take_messages() noexcept {
  has_new_message_ = false;
  return std::exchange(messages_, {});
}

}  // namespace framewire
