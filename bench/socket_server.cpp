#include "bench/socket_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "bench/bench_data.hpp"
#include "bench/bench_protocol.hpp"
#include "bench/socket_ends.hpp"
#include "bench/socket_protocol.hpp"
#include "transport/session/handshake.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

namespace {

FileDescriptor connect(MessageChannel& channel, SessionAcceptor& acceptor) {
  const DataConnectionId connection{random_session_id(), LinkKind::tcp, 0};
  channel.send(socket_connect_message({.session = connection.session, .token = acceptor.issue(connection).hex()}));
  return std::get<FileDescriptor>(await_bench_data(acceptor, connection, channel));
}

EndResult end_result(const SocketReport& report) {
  return {.count = report.count,
          .seconds = report.count > 0 ? static_cast<double>(report.last_ns - report.ready_ns) / 1e9 : 0,
          .cpu_seconds = static_cast<double>(report.cpu_ns) / 1e9,
          .latency_us = {},
          .transport = socket_transport};
}

}  // namespace

void serve_socket_row(const nlohmann::json& request, MessageChannel& channel, SessionAcceptor& acceptor,
                      const EndpointOptions& endpoint, bool prints) {
  const RowPlan plan = read_socket_message(request);
  if (endpoint.encrypt || std::ranges::find(endpoint.allowed_links, LinkKind::tcp) == endpoint.allowed_links.end()) {
    refuse(channel, "the server takes no plain sockets: its --transport or --encrypt does not allow them");
  }
  SocketReceiver receiver(plan);  // before anybody connects: a lack of memory is told in place of where to
  const FileDescriptor socket = connect(channel, acceptor);
  set_up_plain_socket(socket.get());
  const auto poll_control = [&] {
    static_cast<void>(channel.try_receive());  // throws where the client has hung up
    if (tcp_peer_is_silent(channel.fd(), endpoint.peer_timeout_ns)) {
      throw Error::lost_peer("the client's host does not answer");
    }
  };
  const SocketReport report = receiver.receive(socket.get(), poll_control);
  if (!report.is_whole) {
    poll_control();
    throw Error::lost_peer("the client left, or has sent nothing for too long, after " + std::to_string(report.count) +
                           " messages over a plain socket");
  }
  const EndResult result = end_result(report);
  channel.send(result_message(end_result_to_json(result)));
  if (prints) {
    const double gigabytes = static_cast<double>(result.count) * static_cast<double>(plan.message_bytes) / 1e9;
    print_line(fmt::format("socket {:>9} messages of {} bytes {}", result.count, plan.message_bytes,
                           speed_text(result, gigabytes)));
  }
}

}  // namespace framewire
