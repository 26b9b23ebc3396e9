#include "bench/verbs_server.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bench/bench_data.hpp"
#include "bench/bench_protocol.hpp"
#include "bench/row.hpp"
#include "bench/verbs/verbs_bench.hpp"
#include "bench/verbs_protocol.hpp"
#include "transport/session/handshake.hpp"
#include "transport/session/rdma_data.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

namespace {

constexpr std::int64_t timeout_ns = 10 * ns_per_s;

VerbsPlan read_plan(MessageChannel& channel, const nlohmann::json& request) {
  try {
    return read_row_message(request);
  } catch (const Error& error) {
    refuse(channel, error.what());
  }
}

std::unique_ptr<RdmaConnection> connect(MessageChannel& channel, SessionAcceptor& acceptor,
                                        const EndpointOptions& endpoint) {
  if (acceptor.rdma_port() == 0) {
    refuse(channel, "the server takes no RDMA connections: " + acceptor.why_no_rdma());
  }
  const DataConnectionId connection{random_session_id(), LinkKind::rdma, 0};
  channel.send(verbs_connect_message(
      {.session = connection.session, .token = acceptor.issue(connection).hex(), .rdma_port = acceptor.rdma_port()}));
  IncomingDataConnection incoming = await_bench_data(acceptor, connection, channel);
  RdmaOptions options = verbs_options(endpoint.rdma_timeout_ns, channel.fd());
  options.type_of_service = endpoint.type_of_service;
  return RdmaConnection::accept(std::get<RdmaConnectRequest>(std::move(incoming)), options,
                                monotonic_ns() + rdma_connection_timeout_ns);
}

VerbsResult measure(MessageChannel& channel, std::unique_ptr<RdmaConnection> connection, const VerbsPlan& plan,
                    std::int64_t peer_timeout_ns) {
  VerbsBench verbs(std::move(connection), plan, VerbsEnd::server);
  verbs.begin(read_remote_memory_message(channel.receive(monotonic_ns() + timeout_ns)));
  channel.send(remote_memory_message(verbs.remote_memory()));
  return verbs.answer({.descriptor = channel.fd(), .poll_control = [&]() -> std::optional<std::uint64_t> {
                         if (const auto message = channel.try_receive()) {
                           return read_end_message(*message);
                         }
                         if (tcp_peer_is_silent(channel.fd(), peer_timeout_ns)) {
                           throw Error::lost_peer("the client's host does not answer");
                         }
                         return std::nullopt;
                       }});
}

EndResult end_result(const VerbsResult& result) {
  return {.count = result.count,
          .seconds = static_cast<double>(result.elapsed_ns) / 1e9,
          .cpu_seconds = static_cast<double>(result.cpu_ns) / 1e9,
          .latency_us = {},
          .transport = verbs_transport};
}

/// What the server of a row has to say; the client has its table.
void print_row(const VerbsPlan& plan, const EndResult& result) {
  const double gigabytes = static_cast<double>(result.count) * static_cast<double>(plan.message_bytes) / 1e9;
  print_line(fmt::format("verbs {:<9} {:>9} messages of {} bytes {}{}", name(plan.operation), result.count,
                         plan.message_bytes, speed_text(result, gigabytes),
                         is_passive(plan.operation, VerbsEnd::server) ? ", of which this end took no part" : ""));
}

}  // namespace

void serve_verbs_row(const nlohmann::json& request, MessageChannel& channel, SessionAcceptor& acceptor,
                     const EndpointOptions& endpoint, bool prints) {
  const VerbsPlan plan = read_plan(channel, request);
  const EndResult result =
      end_result(measure(channel, connect(channel, acceptor, endpoint), plan, endpoint.peer_timeout_ns));
  channel.send(result_message(end_result_to_json(result)));
  if (prints) {
    print_row(plan, result);
  }
}

}  // namespace framewire
