#include "bench/bench_server.hpp"

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
#include "bench/guest_messages.hpp"
#include "transport/control/dial.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/handshake.hpp"
#include "transport/session/messages.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

namespace {

constexpr std::int64_t answer_patience_ns = 20 * ns_per_s;

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

BenchServer greet(const RowContext& context, std::int64_t deadline_ns) {
  const EndpointOptions& endpoint = context.endpoint;
  Dialled dialled = dial(*endpoint.dial, deadline_ns, DialWay::any,
                         {.fd = context.interruption.descriptor(), .why = "interrupted"}, endpoint.type_of_service);
  const GreetingWake wake(context.interruption, dialled.fd.get());
  HostPort data_to = reached(dialled, *endpoint.dial);
  BenchServer server{authenticate_dialler(std::move(dialled), authentication_of(endpoint)), std::move(data_to),
                     &context};
  exchange_hellos(server.channel(), bench_role, "framewire-bench " FRAMEWIRE_VERSION, {"viewer"});
  watch_peer(server.channel().fd(), endpoint.peer_timeout_ns);
  return server;
}

}  // namespace

nlohmann::json BenchServer::receive() const {
  constexpr std::int64_t between_looks_ns = 200 * ns_per_ms;
  for (const std::int64_t deadline_ns = monotonic_ns() + answer_patience_ns; monotonic_ns() < deadline_ns;) {
    throw_if_interrupted(context->interruption);
    if (auto message = channel().try_receive()) {
      return std::move(*message);
    }
    wait_for(channel().fd(), POLLIN, monotonic_ns() + between_looks_ns);
  }
  throw Error::lost_peer("the bench server has not answered within " + std::to_string(answer_patience_ns / ns_per_s) +
                         " s");
}

void BenchServer::look() const {
  throw_if_interrupted(context->interruption);
  if (const auto message = channel().try_receive()) {
    throw_if_fault(*message);
    throw Error::failed("the bench server said " + message_type(*message) + " in the middle of a row");
  }
  if (tcp_peer_is_silent(channel().fd(), context->endpoint.peer_timeout_ns)) {
    throw Error::lost_peer("the bench server's host does not answer");
  }
}

void BenchServer::throw_if_told_why() const {
  constexpr std::int64_t last_words_ns = ns_per_s / 2;
  nlohmann::json last;
  try {
    last = channel().receive(monotonic_ns() + last_words_ns);
  } catch (const Error&) {
    return;  // not a word, or it is gone
  }
  throw_if_fault(last);
}

void BenchServer::finish() const {
  channel().finish(monotonic_ns() + answer_patience_ns);
}

BenchServer find_bench_server(const RowContext& context) {
  constexpr std::chrono::milliseconds between_dials(50);
  for (const std::int64_t give_up_ns = monotonic_ns() + server_patience_ns;;) {
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
