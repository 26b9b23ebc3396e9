#include "bench/server_connection.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "bench/bench_protocol.hpp"
#include "transport/control/dial.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/handshake.hpp"
#include "transport/session/messages.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

namespace {

constexpr std::int64_t answer_timeout_ns = 20 * ns_per_s;

/// Ends the silence of a server that is being greeted when the interruption comes.
class GreetingWake {
 public:
  GreetingWake(Interruption& interruption, int connection)
      : interruption_(interruption), connection_(::fcntl(connection, F_DUPFD_CLOEXEC, 0)) {
    interruption_.set_wake([this] { ::shutdown(connection_.get(), SHUT_RDWR); });
  }
  ~GreetingWake() { interruption_.set_wake({}); }
  GreetingWake(const GreetingWake&) = delete;
  GreetingWake& operator=(const GreetingWake&) = delete;

 private:
  Interruption& interruption_;
  FileDescriptor connection_;
};

ServerConnection greet(const RowContext& context, std::int64_t deadline_ns) {
  const EndpointOptions& endpoint = context.endpoint;
  DialledSocket dialled =
      dial(*endpoint.dial, deadline_ns, DialMode::any, {.fd = context.interruption.descriptor(), .why = "interrupted"},
           endpoint.type_of_service);
  const GreetingWake wake(context.interruption, dialled.fd.get());
  HostPort data_address = reached(dialled, *endpoint.dial);
  ServerConnection server{authenticate_dialler(std::move(dialled), authentication_of(endpoint)),
                          std::move(data_address), &context};
  exchange_hellos(server.channel(), bench_role, "framewire-bench " FRAMEWIRE_VERSION, {"viewer"});
  watch_peer(server.channel().fd(), endpoint.peer_timeout_ns);
  return server;
}

}  // namespace

nlohmann::json ServerConnection::receive() const {
  constexpr std::int64_t poll_interval_ns = 200 * ns_per_ms;
  for (const std::int64_t deadline_ns = monotonic_ns() + answer_timeout_ns; monotonic_ns() < deadline_ns;) {
    throw_if_interrupted(context->interruption);
    if (auto message = channel().try_receive()) {
      return std::move(*message);
    }
    wait_for(channel().fd(), POLLIN, monotonic_ns() + poll_interval_ns);
  }
  throw Error::lost_peer("the bench server has not answered within " + std::to_string(answer_timeout_ns / ns_per_s) +
                         " s");
}

void ServerConnection::poll_control() const {
  throw_if_interrupted(context->interruption);
  if (const auto message = channel().try_receive()) {
    throw_if_fault(*message);
    throw Error::failed("the bench server said " + message_type(*message) + " in the middle of a row");
  }
  if (tcp_peer_is_silent(channel().fd(), context->endpoint.peer_timeout_ns)) {
    throw Error::lost_peer("the bench server's host does not answer");
  }
}

void ServerConnection::throw_if_told_why() const {
  constexpr std::int64_t final_message_timeout_ns = ns_per_s / 2;
  nlohmann::json last;
  try {
    last = channel().receive(monotonic_ns() + final_message_timeout_ns);
  } catch (const Error&) {
    return;  // not a word, or it is gone
  }
  throw_if_fault(last);
}

void ServerConnection::finish() const {
  channel().finish(monotonic_ns() + answer_timeout_ns);
}

ServerConnection connect_to_server(const RowContext& context) {
  constexpr std::chrono::milliseconds between_dials(50);
  for (const std::int64_t give_up_ns = monotonic_ns() + server_timeout_ns;;) {
    throw_if_interrupted(context.interruption);
    try {
      return greet(context, give_up_ns);
    } catch (const Error& error) {
      if (error.status() != ExitStatus::lost_peer) {
        throw;
      }
      if (monotonic_ns() >= give_up_ns) {
        throw no_server(*context.endpoint.dial, error.what());
      }
    }
    std::this_thread::sleep_for(between_dials);
  }
}

}  // namespace framewire
