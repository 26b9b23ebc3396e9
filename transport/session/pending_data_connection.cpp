#include "transport/session/pending_data_connection.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "transport/session/data_link.hpp"

namespace framewire {

PendingDataConnection::PendingDataConnection(SessionAcceptor& acceptor, const DataConnectionId& connection,
                                             MessageChannel& channel)
    : acceptor_(acceptor),
      connection_(connection),
      channel_(channel),
      deadline_ns_(monotonic_ns() + data_connection_timeout_ns) {
  acceptor_.watch(connection_, arrived_);
  signal_eventfd(arrived_->get());  // it may have come already
}

PendingDataConnection::~PendingDataConnection() {
  acceptor_.forget(connection_);
}

std::optional<IncomingDataConnection> PendingDataConnection::next() {
  has_new_message_ = false;
  if (!channel_.has_buffered()) {
    std::array descriptors{pollfd{.fd = arrived_->get(), .events = POLLIN, .revents = 0},
                           pollfd{.fd = channel_.fd(), .events = POLLIN, .revents = 0}};
    wait_until(descriptors, deadline_ns_);
  }
  clear_eventfd(arrived_->get());
  if (auto incoming = acceptor_.await_data(connection_, 0)) {
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
