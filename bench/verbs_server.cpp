#include "bench/verbs_server.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bench/guest_data.hpp"
#include "bench/guest_messages.hpp"
#include "bench/row.hpp"
#include "bench/verbs_messages.hpp"
#include "transport/rdma/raw_verbs.hpp"
#include "transport/session/handshake.hpp"
#include "transport/session/rdma_data.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

namespace {

constexpr std::int64_t patience_ns = 10 * ns_per_s;

RawPlan read_plan(MessageChannel& channel, const nlohmann::json& request) {
  try {
    return read_row_message(request);
  } catch (const Error& error) {
    refuse(channel, error.what());
  }
}

std::unique_ptr<RdmaConnection> connect(MessageChannel& channel, Door& door, const EndpointOptions& endpoint) {
  if (door.rdma_port() == 0) {
    refuse(channel, "the server takes no RDMA connections: " + door.why_no_rdma());
  }
  const DataConnection connection{random_session_id(), LinkKind::rdma, 0};
  channel.send(connect_message(
      {.session = connection.session, .token = door.issue(connection).hex(), .rdma_port = door.rdma_port()}));
  Arrival arrival = await_guest_data(door, connection, channel);
  RdmaOptions options = raw_options(endpoint.rdma_timeout_ns, channel.fd());
  options.type_of_service = endpoint.type_of_service;
  return RdmaConnection::accept(std::get<RdmaRequest>(std::move(arrival)), options,
                                monotonic_ns() + rdma_connection_timeout_ns);
}

RawResult measure(MessageChannel& channel, std::unique_ptr<RdmaConnection> connection, const RawPlan& plan,
                  std::int64_t peer_timeout_ns) {
  RawVerbs verbs(std::move(connection), plan, RawEnd::server);
  verbs.begin(read_terms_message(channel.receive(monotonic_ns() + patience_ns)));
  channel.send(terms_message(verbs.terms()));
  return verbs.answer({.descriptor = channel.fd(), .look = [&]() -> std::optional<std::uint64_t> {
                         if (const auto message = channel.try_receive()) {
                           return read_end_message(*message);
                         }
                         if (tcp_peer_is_silent(channel.fd(), peer_timeout_ns)) {
                           throw Error::lost_peer("the client's host does not answer");
                         }
                         return std::nullopt;
                       }});
}

EndResult end_result(const RawResult& result) {
  return {.count = result.count,
          .seconds = static_cast<double>(result.elapsed_ns) / 1e9,
          .cpu_seconds = static_cast<double>(result.cpu_ns) / 1e9,
          .latency_us = {},
          .transport = raw_transport};
}

/// What the server of a row has to say; the client has its table.
void print_row(const RawPlan& plan, const EndResult& result) {
  const double gigabytes = static_cast<double>(result.count) * static_cast<double>(plan.message_bytes) / 1e9;
  print_line(fmt::format("verbs {:<9} {:>9} messages of {} bytes {}{}", name(plan.operation), result.count,
                         plan.message_bytes, speed_text(result, gigabytes),
                         is_passive(plan.operation, RawEnd::server) ? ", of which this end took no part" : ""));
}

}  // namespace

void serve_verbs_row(const nlohmann::json& request, MessageChannel& channel, Door& door,
                     const EndpointOptions& endpoint, bool prints) {
  const RawPlan plan = read_plan(channel, request);
  const EndResult result =
      end_result(measure(channel, connect(channel, door, endpoint), plan, endpoint.peer_timeout_ns));
  channel.send(result_message(end_result_to_json(result)));
  if (prints) {
    print_row(plan, result);
  }
}

}  // namespace framewire
