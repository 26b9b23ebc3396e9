#include "bench/socket_rows.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/wait.hpp"
#include "bench/child.hpp"
#include "bench/client.hpp"
#include "bench/protocol.hpp"
#include "bench/socket_ends.hpp"
#include "transport/control/tcp_options.hpp"
#include "transport/session/data_link.hpp"
#include "transport/session/handshake.hpp"

namespace framewire {

// ---- Within this machine ----

namespace {

constexpr std::int64_t timeout_ns = 10 * ns_per_s;  // for the server's report

std::pair<FileDescriptor, FileDescriptor> connected_pair() {
  FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  FileDescriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  for (const FileDescriptor* socket : {&listener, &client}) {
    set_tcp_options(socket->get(), TcpScope::this_machine);  // the same options as the tcp link, for comparison
  }
  if (::bind(listener.get(), generic, size) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), generic, &size) != 0 || ::connect(client.get(), generic, size) != 0) {
    throw Error::from_errno("connect over loopback", errno);
  }
  FileDescriptor server(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!server.valid()) {
    throw Error::from_errno("accept over loopback", errno);
  }
  set_up_plain_socket(client.get());
  set_up_plain_socket(server.get());
  return {std::move(client), std::move(server)};
}

SocketReport read_report(int pipe, std::uint64_t sent) {
  SocketReport report;
  if (!wait_for(pipe, POLLIN, monotonic_ns() + timeout_ns) ||
      ::read(pipe, &report, sizeof report) != static_cast<ssize_t>(sizeof report) || report.count != sent) {
    throw Error::failed("the plain-socket server did not receive every message");
  }
  return report;
}

RowResult measure_from(SocketSender&& sender, int report_pipe, const RowPlan& plan) {
  const SocketSent sent = sender.send_all_messages();
  const SocketReport report = read_report(report_pipe, sent.count);
  RowResult row{.plan = plan, .client = {}, .server = {}};
  row.client = client_result(sent);
  row.server = {.count = report.count,
                .seconds = static_cast<double>(report.last_ns - sent.begin_ns) / 1e9,
                .cpu_seconds = static_cast<double>(report.cpu_ns) / 1e9,
                .latency_us = report.latency_us,
                .transport = socket_transport};
  return row;
}

}  // namespace

RowResult measure_plain_socket(const RowPlan& plan, const Interruption& interruption) {
  auto [client, server] = connected_pair();
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) {
    throw Error::from_errno("make a pipe", errno);
  }
  FileDescriptor report_in(pipe_ends[0]);
  FileDescriptor report_out(pipe_ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) {
    throw Error::from_errno("start the plain-socket server", errno);
  }
  if (pid == 0) {
    ::prctl(PR_SET_NAME, "socket-server");  // tells it apart in top and ps from other processes of framewire-bench
    client.reset();
    try {
      const SocketReport report = SocketReceiver(plan).receive(server.get(), [] {});
      [[maybe_unused]] const auto written = ::write(report_out.get(), &report, sizeof report);
    } catch (const std::exception&) {
      ::_exit(1);  // the client notices that there is no report
    }
    ::_exit(0);
  }
  const Child child(pid);
  server.reset();
  report_out.reset();
  return measure_from(SocketSender(client.get(), plan, [&] { throw_if_interrupted(interruption); }), report_in.get(),
                      plan);
}

// ---- Between two machines: the client ----

namespace {

/// The authenticated data connection. Throws CannotBegin when the server cannot provide it.
FileDescriptor connect(const ServerConnection& server, const RowPlan& plan, const EndpointOptions& endpoint) {
  try {
    server.channel().send(socket_message(plan));
    const SocketConnect go = read_socket_connect_message(server.receive());
    auto path = dial_data(server.data_address, {}, Token::from_hex(go.token), {go.session, LinkKind::tcp, 0},
                          {.peer_timeout_ns = endpoint.peer_timeout_ns,
                           .type_of_service = endpoint.type_of_service,
                           .cancel_fd = server.channel().fd()});
    return std::get<FileDescriptor>(std::move(path));
  } catch (const Error& error) {
    throw CannotBegin(error);
  }
}

/// Polls the server's channel every half second, because a system call for each small message would distort the
/// measurement. Checks for Ctrl-C at every call.
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
  row.server = side_result_from_json(read_result_message(server.receive()));
  row.client = client_result(sent);
  require_every_message(row);
  server.finish();
  return row;
}

// ---- Between two machines: the server ----

namespace {

FileDescriptor connect(MessageChannel& channel, SessionAcceptor& acceptor) {
  const DataConnectionId connection{random_session_id(), LinkKind::tcp, 0};
  channel.send(socket_connect_message({.session = connection.session, .token = acceptor.issue(connection).hex()}));
  return std::get<FileDescriptor>(await_bench_data(acceptor, connection, channel));
}

SideResult side_result(const SocketReport& report) {
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
  SocketReceiver receiver(plan);  // before the client is told to connect: memory may be lacking
  const FileDescriptor socket = connect(channel, acceptor);
  set_up_plain_socket(socket.get());
  const auto poll_control = [&] { static_cast<void>(poll_client(channel, endpoint.peer_timeout_ns)); };
  const SocketReport report = receiver.receive(socket.get(), poll_control);
  if (!report.is_whole) {
    poll_control();
    throw Error::lost_peer("the client left, or has sent nothing for too long, after " + std::to_string(report.count) +
                           " messages over a plain socket");
  }
  const SideResult result = side_result(report);
  channel.send(result_message(side_result_to_json(result)));
  if (prints) {
    const double gigabytes = gigabytes_of(result.count, plan.message_bytes);
    print_line(fmt::format("socket {:>9} messages of {} bytes {}", result.count, plan.message_bytes,
                           speed_text(result, gigabytes)));
  }
}

}  // namespace framewire
