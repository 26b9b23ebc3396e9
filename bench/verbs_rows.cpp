#include "bench/verbs_rows.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bench/client.hpp"
#include "bench/protocol.hpp"
#include "bench/row.hpp"
#include "bench/verbs/verbs_bench.hpp"
#include "transport/links.hpp"
#include "transport/rdma/work_requests.hpp"
#include "transport/session/data_link.hpp"
#include "transport/session/handshake.hpp"

namespace framewire {

namespace {

/// What the RDMA connection of one row uses; outlives it. As with a link that pulls, the connection posts no receives
/// of its own.
class VerbsSettings {
 public:
  VerbsSettings(const EndpointOptions& endpoint, int cancel_fd)
      : resources_(link_provider(LinkKind::rdma).make_sender_resources()), parameters_(link_parameters_of(endpoint)) {
    parameters_.cancel_fd = cancel_fd;
    parameters_.pulls = true;
    // A sender's first session has the device's first completion vector. With resources of its own every row has it,
    // too: rows and runs can then be compared. Viewers would start at a random one.
    parameters_.sender_resources = resources_.get();
  }
  [[nodiscard]] const LinkParameters& parameters() const noexcept { return parameters_; }

 private:
  std::unique_ptr<SenderResources> resources_;
  LinkParameters parameters_;
};

}  // namespace

// ---- The client's part ----

namespace {

VerbsPlan verbs_plan_of(const RowPlan& plan) {
  return {.operation = verbs_operation_from_name(plan.operation).value_or(VerbsOperation::write),
          .message_bytes = plan.message_bytes,
          .slots = plan.slots,
          .wait = plan.wait,
          .touches_payload = plan.touches_payload,
          .count = plan.count,
          .duration_ns = plan.duration_ns,
          .period_ns = plan.period_ns()};
}

/// Throws CannotBegin when the RDMA connection fails: the server itself is still there.
std::unique_ptr<ConnectedQueuePair> connect(const ServerConnection& server, const VerbsConnect& go,
                                            const VerbsSettings& settings) {
  try {
    return queue_pair_of(dial_data(server.data_address, go.listener, Token::from_hex(go.token),
                                   {go.session, LinkKind::rdma, 0}, settings.parameters()));
  } catch (const Error& error) {
    throw CannotBegin(error);
  }
}

/// Prepares the row until both sides are ready. Throws Error.
std::unique_ptr<VerbsBench> prepare(const ServerConnection& server, const VerbsPlan& plan,
                                    const VerbsSettings& settings) {
  server.channel().send(verbs_row_message(plan));
  const VerbsConnect go = read_connect_message(server.receive());
  auto verbs = std::make_unique<VerbsBench>(connect(server, go, settings), plan, VerbsSide::client);
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
  const VerbsSettings settings(context.endpoint, server.channel().fd());
  std::unique_ptr<VerbsBench> verbs;
  try {
    verbs = prepare(server, verbs_plan_of(plan), settings);
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
  row.server = side_result_from_json(read_result_message(server.receive()));
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

// ---- The server's part ----

namespace {

constexpr std::int64_t timeout_ns = 10 * ns_per_s;

VerbsPlan read_plan(MessageChannel& channel, const nlohmann::json& request) {
  try {
    return read_row_message(request);
  } catch (const Error& error) {
    refuse(channel, error.what());
  }
}

std::unique_ptr<ConnectedQueuePair> connect(MessageChannel& channel, SessionAcceptor& acceptor,
                                            const VerbsSettings& settings) {
  const LinkDescription listener = acceptor.listener_description(LinkKind::rdma);
  if (listener.empty()) {
    refuse(channel, "the server takes no RDMA connections: " + acceptor.unavailable_reason(LinkKind::rdma));
  }
  const DataConnectionId connection{random_session_id(), LinkKind::rdma, 0};
  const Token token = acceptor.issue(connection);
  channel.send(verbs_connect_message({.session = connection.session, .token = token.hex(), .listener = listener}));
  return queue_pair_of(
      accept_data(await_bench_data(acceptor, connection, channel), token, connection, settings.parameters()));
}

VerbsResult measure(MessageChannel& channel, std::unique_ptr<ConnectedQueuePair> connection, const VerbsPlan& plan,
                    std::int64_t peer_timeout_ns) {
  VerbsBench verbs(std::move(connection), plan, VerbsSide::server);
  verbs.begin(read_remote_memory_message(channel.receive(monotonic_ns() + timeout_ns)));
  channel.send(remote_memory_message(verbs.remote_memory()));
  return verbs.answer({.descriptor = channel.fd(), .poll_control = [&]() -> std::optional<std::uint64_t> {
                         const auto message = poll_client(channel, peer_timeout_ns);
                         return message ? std::optional(read_end_message(*message)) : std::nullopt;
                       }});
}

SideResult side_result(const VerbsResult& result) {
  return {.count = result.count,
          .seconds = static_cast<double>(result.elapsed_ns) / 1e9,
          .cpu_seconds = static_cast<double>(result.cpu_ns) / 1e9,
          .latency_us = {},
          .transport = verbs_transport};
}

/// The server's line about a row; the client prints the table.
void print_row(const VerbsPlan& plan, const SideResult& result) {
  const double gigabytes = gigabytes_of(result.count, plan.message_bytes);
  print_line(fmt::format("verbs {:<9} {:>9} messages of {} bytes {}{}", name(plan.operation), result.count,
                         plan.message_bytes, speed_text(result, gigabytes),
                         is_passive(plan.operation, VerbsSide::server) ? ", of which this end took no part" : ""));
}

}  // namespace

void serve_verbs_row(const nlohmann::json& request, MessageChannel& channel, SessionAcceptor& acceptor,
                     const EndpointOptions& endpoint, bool prints) {
  const VerbsPlan plan = read_plan(channel, request);
  const VerbsSettings settings(endpoint, channel.fd());
  const SideResult result =
      side_result(measure(channel, connect(channel, acceptor, settings), plan, endpoint.peer_timeout_ns));
  channel.send(result_message(side_result_to_json(result)));
  if (prints) {
    print_row(plan, result);
  }
}

}  // namespace framewire
