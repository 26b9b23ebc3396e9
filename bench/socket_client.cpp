#include "bench/socket_client.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bench/bench_protocol.hpp"
#include "bench/server_connection.hpp"
#include "bench/socket_ends.hpp"
#include "bench/socket_protocol.hpp"
#include "transport/session/data_link.hpp"

namespace framewire {

namespace {

/// The proven connection. That the server cannot have it is no fault of this end.
FileDescriptor connect(const ServerConnection& server, const RowPlan& plan, const EndpointOptions& endpoint) {
  try {
    server.channel().send(socket_message(plan));
    const SocketConnect go = read_socket_connect_message(server.receive());
    auto path = dial_data(server.data_address, 0, Token::from_hex(go.token), {go.session, LinkKind::tcp, 0},
                          {.peer_timeout_ns = endpoint.peer_timeout_ns,
                           .type_of_service = endpoint.type_of_service,
                           .cancel_fd = server.channel().fd()});
    return std::get<FileDescriptor>(std::move(path));
  } catch (const Error& error) {
    throw CannotBegin(error);
  }
}

/// The server's channel is looked at every half second: a call to the kernel for each small message would be measured,
/// too. Ctrl-C at every one.
PollControl now_and_then(const ServerConnection& server) {
  return [&server, next_poll_ns = std::int64_t{0}]() mutable {
    constexpr std::int64_t poll_interval_ns = ns_per_s / 2;
    throw_if_interrupted(server.context->interruption);
    if (const std::int64_t now_ns = monotonic_ns(); now_ns >= next_poll_ns) {
      server.poll_control();
      next_poll_ns = now_ns + poll_interval_ns;
    }
  };
}

}  // namespace

RowResult measure_socket_row(const RowPlan& plan, const RowContext& context) {
  const ServerConnection server = connect_to_server(context);
  const FileDescriptor socket = connect(server, plan, context.endpoint);
  set_up_plain_socket(socket.get());
  SocketSender sender(socket.get(), plan, now_and_then(server));
  const SocketSent sent = server.drive([&] { return sender.send_all_messages(); });
  RowResult row{.plan = plan, .client = {}, .server = {}};
  row.server = end_result_from_json(read_result_message(server.receive()));
  row.client = {.count = sent.count,
                .seconds = static_cast<double>(monotonic_ns() - sent.begin_ns) / 1e9,
                .cpu_seconds = static_cast<double>(sent.cpu_ns) / 1e9,
                .latency_us = sent.latency_us,
                .transport = socket_transport};
  require_every_message(row);
  server.finish();
  return row;
}

}  // namespace framewire
