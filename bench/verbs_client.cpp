#include "bench/verbs_client.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bench/bench_server.hpp"
#include "bench/guest_messages.hpp"
#include "bench/verbs_messages.hpp"
#include "transport/rdma/raw_verbs.hpp"
#include "transport/session/rdma_data.hpp"

namespace framewire {

namespace {

RawPlan raw_plan_of(const RowPlan& plan) {
  return {.operation = raw_operation_from_name(plan.operation).value_or(RawOperation::write),
          .message_bytes = plan.message_bytes,
          .slots = plan.slots,
          .wait = plan.wait,
          .touches_payload = plan.touches_payload,
          .count = plan.count,
          .duration_ns = plan.duration_ns,
          .period_ns = plan.rate_per_s > 0 ? static_cast<std::int64_t>(1e9 / plan.rate_per_s) : 0};
}

/// That nothing answers over RDMA is no loss of the server.
std::unique_ptr<RdmaConnection> connect(const BenchServer& server, const RawConnect& go,
                                        const EndpointOptions& endpoint) {
  try {
    RdmaOptions options = raw_options(endpoint.rdma_timeout_ns, server.channel().fd());
    options.type_of_service = endpoint.type_of_service;
    return dial_rdma({.host = server.data_to.host, .port = go.rdma_port}, Token::from_hex(go.token),
                     {go.session, LinkKind::rdma, 0}, options, monotonic_ns() + rdma_connection_timeout_ns,
                     {.told = {}, .only = endpoint.rdma_address});
  } catch (const Error& error) {
    throw CannotBegin(error);
  }
}

/// Up to where both ends are ready. Throws Error.
std::unique_ptr<RawVerbs> prepare(const BenchServer& server, const RawPlan& plan, const EndpointOptions& endpoint) {
  server.channel().send(row_message(plan));
  const RawConnect go = read_connect_message(server.receive());
  auto verbs = std::make_unique<RawVerbs>(connect(server, go, endpoint), plan, RawEnd::client);
  server.channel().send(terms_message(verbs->terms()));
  verbs->begin(read_terms_message(server.receive()));
  return verbs;
}

RawResult drive(const BenchServer& server, RawVerbs& verbs) {
  const auto look = [&]() -> std::optional<std::uint64_t> {
    server.look();
    return std::nullopt;
  };
  return server.drive([&] { return verbs.drive({.descriptor = server.channel().fd(), .look = look}); });
}

}  // namespace

RowResult measure_verbs_row(const RowPlan& plan, const RowContext& context) {
  const BenchServer server = find_bench_server(context);
  std::unique_ptr<RawVerbs> verbs;
  try {
    verbs = prepare(server, raw_plan_of(plan), context.endpoint);
  } catch (const CannotBegin&) {
    throw;
  } catch (const Error& error) {
    if (error.status() == ExitStatus::lost_peer) {
      throw;
    }
    throw CannotBegin(error);
  }
  const RawResult raw = drive(server, *verbs);
  server.channel().send(end_message(raw.count));
  RowResult row{.plan = plan, .client = {}, .server = {}};
  row.server = end_result_from_json(read_result_message(server.receive()));
  row.client = {.count = raw.count,
                .seconds = static_cast<double>(raw.elapsed_ns) / 1e9,
                .cpu_seconds = static_cast<double>(raw.cpu_ns) / 1e9,
                .latency_us = latency_of(raw.latency),
                .transport = raw_transport};
  require_every_message(row);
  verbs.reset();
  server.finish();
  return row;
}

}  // namespace framewire
