#include "transport/rdma/connection.hpp"

#include <utility>

namespace framewire {

RdmaConnection::RdmaConnection(RdmaOptions options, std::string peer, bool is_dialler)
    : options_(std::move(options)), is_dialler_(is_dialler), manager_(std::move(peer), options_) {}

std::unique_ptr<RdmaConnection> RdmaConnection::dial(
    const sockaddr& to, const std::string& name, const RdmaPrivateData& hello,
    const std::function<void(std::span<const std::byte>)>& check_answer, const RdmaOptions& options,
    std::int64_t deadline_ns) {
  std::unique_ptr<RdmaConnection> connection(new RdmaConnection(options, name, true));
  connection->manager_.resolve(to, deadline_ns);
  connection->queues_.emplace(connection->manager_.id(), options);
  const auto event = connection->manager_.connect(hello, deadline_ns);
  const auto* answer = static_cast<const std::byte*>(event->param.conn.private_data);
  check_answer({answer, answer == nullptr ? std::size_t{0} : event->param.conn.private_data_len});
  connection->queues_->shorten_rnr_timeouts();
  return connection;
}

std::unique_ptr<RdmaConnection> RdmaConnection::accept(RdmaConnectRequest request, const RdmaOptions& options,
                                                       std::int64_t deadline_ns) {
  std::unique_ptr<RdmaConnection> connection;
  try {
    connection.reset(new RdmaConnection(options, "the peer", false));
    connection->manager_.take(request);
    connection->queues_.emplace(connection->manager_.id(), options);
    connection->manager_.accept(request.answer());
  } catch (const Error& error) {
    if (!request.reject(error.what())) {
      connection->manager_.reject(error.what());
    }
    throw;
  }
  connection->manager_.await_established(deadline_ns);
  connection->queues_->shorten_rnr_timeouts();
  return connection;
}

}  // namespace framewire
