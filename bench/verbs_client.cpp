#include "bench/verbs_client.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bench/bench_protocol.hpp"
#include "bench/server_connection.hpp"
#include "bench/verbs/verbs_bench.hpp"
#include "bench/verbs_protocol.hpp"
#include "transport/session/rdma_data.hpp"

namespace framewire {

namespace {

VerbsPlan verbs_plan_of(const RowPlan& plan) {
  return {.operation = verbs_operation_from_name(plan.operation).value_or(VerbsOperation::write),
          .message_bytes = plan.message_bytes,
          .slots = plan.slots,
          .wait = plan.wait,
          .touches_payload = plan.touches_payload,
          .count = plan.count,
          .duration_ns = plan.duration_ns,
          .period_ns = plan.rate_per_s > 0 ? static_cast<std::int64_t>(1e9 / plan.rate_per_s) : 0};
}

/// That nothing answers over RDMA is no loss of the server.
std::unique_ptr<RdmaConnection> connect(const ServerConnection& server, const VerbsConnect& go,
                                        const EndpointOptions& endpoint) {
  try {
    RdmaOptions options = verbs_options(endpoint.rdma_timeout_ns, server.channel().fd());
    options.type_of_service = endpoint.type_of_service;
    return dial_rdma({.host = server.data_address.host, .port = go.rdma_port}, Token::from_hex(go.token),
                     {go.session, LinkKind::rdma, 0}, options, monotonic_ns() + rdma_connection_timeout_ns,
                     {.told = {}, .only = endpoint.rdma_address});
  } catch (const Error& error) {
    throw CannotBegin(error);
  }
}

/// Up to where both ends are ready. Throws Error.
std::unique_ptr<VerbsBench> prepare(const ServerConnection& server, const VerbsPlan& plan,
                                    const EndpointOptions& endpoint) {
  server.channel().send(verbs_row_message(plan));
  const VerbsConnect go = read_connect_message(server.receive());
  auto verbs = std::make_unique<VerbsBench>(connect(server, go, endpoint), plan, VerbsEnd::client);
  server.channel().send(remote_memory_message(verbs->remote_memory()));
  verbs->begin(read_remote_memory_message(server.receive()));
  return verbs;
}

VerbsResult drive(const ServerConnection& server, VerbsBench& verbs) {
  const auto poll_control = [&]() -> std::optional<std::uint64_t> {
    server.poll_control();
    return std::nullopt;
  };
  return server.drive([&] { return verbs.drive({.descriptor = server.channel().fd(), .poll_control = poll_control}); });
}

}  // namespace

RowResult measure_verbs_row(const RowPlan& plan, const RowContext& context) {
  const ServerConnection server = connect_to_server(context);
  std::unique_ptr<VerbsBench> verbs;
  try {
    verbs = prepare(server, verbs_plan_of(plan), context.endpoint);
  } catch (const CannotBegin&) {
    throw;
  } catch (const Error& error) {
    if (error.status() == ExitStatus::lost_peer) {
      throw;
    }
    throw CannotBegin(error);
  }
  const VerbsResult raw = drive(server, *verbs);
  server.channel().send(end_message(raw.count));
  RowResult row{.plan = plan, .client = {}, .server = {}};
  row.server = end_result_from_json(read_result_message(server.receive()));
  row.client = {.count = raw.count,
                .seconds = static_cast<double>(raw.elapsed_ns) / 1e9,
                .cpu_seconds = static_cast<double>(raw.cpu_ns) / 1e9,
                .latency_us = latency_of(raw.latency),
                .transport = verbs_transport};
  require_every_message(row);
  verbs.reset();
  server.finish();
  return row;
}

}  // namespace framewire
