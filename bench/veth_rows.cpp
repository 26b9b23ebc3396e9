#include "bench/veth_rows.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/wait.hpp"
#include "bench/child.hpp"
#include "bench/protocol.hpp"
#include "bench/socket_ends.hpp"
#include "bench/xdp/capabilities.hpp"
#include "bench/xdp/network_interface.hpp"
#include "bench/xdp/udp_port.hpp"
#include "bench/xdp/veth_pair.hpp"
#include "bench/xdp_rows.hpp"
#include "transport/byte_stream.hpp"
#include "transport/control/tcp_options.hpp"
#include "transport/session/messages.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

namespace {

constexpr std::int64_t other_end_timeout_ns = 10 * ns_per_s;
constexpr std::uint16_t port_of_rows = 5290;  // in the row's own namespaces
constexpr std::int64_t no_peer_timeout = 0;   // both sides are on this machine

std::unique_ptr<MessageChannel> channel_over(FileDescriptor socket) {
  return std::make_unique<MessageChannel>(std::make_unique<FdStream>(std::move(socket)), "the row's other end");
}

/// This side's end of the cable, once both are up.
struct CableEnd {
  const char* name;
  const char* address;
  const char* peer_address;
};
constexpr CableEnd client_end{veth_client_name, veth_client_address, veth_server_address};
constexpr CableEnd server_end{veth_server_name, veth_server_address, veth_client_address};

void plug_in(const CableEnd& end) {
  bring_up(end.name, end.address);
  await_carrier(end.name, monotonic_ns() + other_end_timeout_ns);
}

UdpPort udp_port_of(const RowPlan& plan, const CableEnd& end) {
  return {end.address,
          end.peer_address,
          port_of_rows,
          plan.batch,
          find_interface(end.name).mtu_bytes,
          plan.wait == WaitMode::spin};
}

nlohmann::json message_of(const char* type) {
  return {{"type", type}};
}

// ---- Plain TCP sockets ----

FileDescriptor tcp_socket() {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) {
    throw Error::from_errno("make a socket", errno);
  }
  set_tcp_options(socket.get(), TcpScope::anywhere);
  return socket;
}

sockaddr_in server_address() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_of_rows);
  ::inet_pton(AF_INET, veth_server_address, &address.sin_addr);
  return address;
}

FileDescriptor tcp_listener() {
  FileDescriptor listener = tcp_socket();
  const sockaddr_in address = server_address();
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener.get(), 1) != 0) {
    throw Error::from_errno("listen over a virtual Ethernet cable", errno);
  }
  return listener;
}

RowResult send_over_tcp(const RowPlan& plan, const ServerConnection& server) {
  const FileDescriptor socket = tcp_socket();
  const sockaddr_in address = server_address();
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw Error::from_errno("connect over a virtual Ethernet cable", errno);
  }
  set_up_plain_socket(socket.get());
  SocketSender sender(socket.get(), plan, [&] { throw_if_interrupted(server.context->interruption); });
  const SocketSent sent = server.drive([&] { return sender.send_all_messages(); });
  RowResult row{.plan = plan, .client = {}, .server = {}};
  row.client = client_result(sent);
  row.server = side_result_from_json(read_result_message(server.receive()));
  // The server does not know the begin; both sides have one clock.
  row.server.seconds -= static_cast<double>(sent.begin_ns) / 1e9;
  require_every_message(row);
  return row;
}

void receive_over_tcp(const RowPlan& plan, const FileDescriptor& listener, MessageChannel& channel) {
  SocketReceiver receiver(plan);  // has its memory before the client begins
  channel.send(message_of("ready"));
  if (!wait_for(listener.get(), POLLIN, monotonic_ns() + other_end_timeout_ns)) {
    throw Error::lost_peer("the row's client did not connect");
  }
  const FileDescriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket.valid()) {
    throw Error::from_errno("accept over a virtual Ethernet cable", errno);
  }
  set_up_plain_socket(socket.get());
  const SocketReport report = receiver.receive(socket.get(), [&] { static_cast<void>(channel.try_receive()); });
  channel.send(result_message(side_result_to_json({.count = report.count,
                                                   .seconds = static_cast<double>(report.last_ns) / 1e9,
                                                   .cpu_seconds = static_cast<double>(report.cpu_ns) / 1e9,
                                                   .latency_us = report.latency_us,
                                                   .transport = plan.transport})));
}

// ---- The server: a process ----

void serve_row(const RowPlan& plan, MessageChannel& channel) {
  if (plan.transport == xdp_transport) {
    receive_xdp_row(plan, channel, no_peer_timeout);
  } else if (plan.transport == udp_transport) {
    UdpPort port = udp_port_of(plan, server_end);
    receive_row_of_frames(plan, port, port.payload_bytes(), channel, no_peer_timeout);
  } else {
    receive_over_tcp(plan, tcp_listener(), channel);
  }
}

/// The client's request: as that of a row over XDP between machines, with the transport.
nlohmann::json request_of(const RowPlan& plan) {
  nlohmann::json request = xdp_message(plan);
  request["transport"] = plan.transport;
  return request;
}

RowPlan read_request(const nlohmann::json& request) {
  RowPlan plan = read_xdp_message(request);
  plan.transport = text_field(request, "transport");
  plan.interface = server_end.name;
  plan.is_remote = false;
  return plan;
}

/// Returns when the client has closed the channel, and throws when a row fails.
void serve_rows(MessageChannel& channel) {
  enter_new_network_namespace();
  channel.send(message_of("namespace"));
  expect(channel.receive(monotonic_ns() + other_end_timeout_ns), "cable");
  plug_in(server_end);
  for (;;) {
    wait_for(channel.fd(), POLLIN, INT64_MAX);
    if (socket_state(channel.fd()) != LinkState::open) {
      return;
    }
    serve_row(read_request(channel.receive(monotonic_ns() + other_end_timeout_ns)), channel);
  }
}

void tell(MessageChannel& channel, const nlohmann::json& message) noexcept {
  try {
    channel.send(message);
  } catch (const std::exception&) {
    ::_exit(1);  // the client has gone
  }
}

[[noreturn]] void be_server(FileDescriptor control, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, "veth-server");  // in top and ps
  if (::getppid() != parent) {
    ::_exit(1);  // the parent ended before prctl()
  }
  const auto channel = channel_over(std::move(control));
  try {
    serve_rows(*channel);
  } catch (const Error& error) {
    tell(*channel, error.status() == ExitStatus::refused ? refusal(error.what()) : fault_message(error.what()));
  } catch (const std::exception& error) {  // no memory
    tell(*channel, fault_message(error.what()));
  }
  channel->finish(monotonic_ns() + other_end_timeout_ns);
  ::_exit(0);
}

pid_t start_server(FileDescriptor control, const FileDescriptor& clients_end) {
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process < 0) {
    throw Error::from_errno("start the server of a row", errno);
  }
  if (process == 0) {
    ::close(clients_end.get());
    be_server(std::move(control), parent);
  }
  return process;
}

// ---- The client ----

RowResult send_row(const RowPlan& plan, const ServerConnection& server) {
  if (plan.transport == xdp_transport) {
    return send_xdp_row(plan, server, request_of(plan));
  }
  server.channel().send(request_of(plan));
  expect(server.receive(), "ready");
  if (plan.transport == udp_transport) {
    UdpPort port = udp_port_of(plan, client_end);
    return send_row_of_frames(plan, port, port.payload_bytes(), server);
  }
  return send_over_tcp(plan, server);
}

/// Runs it on a thread of its own, because a network namespace is a thread's.
template <typename Run>
auto on_a_thread(Run run) {
  return std::async(std::launch::async, std::move(run)).get();
}

}  // namespace

struct VethCable::Server {
  explicit Server(const RowContext& context);

  ServerConnection connection;
  std::optional<Child> process;
  FileDescriptor own_namespace;  // keeps the client's end between two rows
};

VethCable::Server::Server(const RowContext& context)
    : connection{.authenticated = {.channel = nullptr, .auth = "user", .control = "unix", .is_unix = true},
                 .data_address = {},
                 .context = &context} {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw Error::from_errno("make a pair of sockets", errno);
  }
  FileDescriptor own(ends[0]);
  process.emplace(start_server(FileDescriptor(ends[1]), own));
  connection.authenticated.channel = channel_over(std::move(own));
}

VethCable::VethCable() = default;
VethCable::~VethCable() = default;

void VethCable::connect(const RowContext& context) {
  try {
    require_capabilities(true);
    server_ = std::make_unique<Server>(context);
    on_a_thread([&] {
      expect(server_->connection.receive(), "namespace");
      enter_new_network_namespace();
      server_->own_namespace = this_network_namespace();
      make_veth_pair(server_->process->id());
      server_->connection.channel().send(message_of("cable"));
      plug_in(client_end);
    });
  } catch (const Error& error) {
    server_.reset();
    throw CannotBegin(error);
  }
}

RowResult VethCable::measure_row(const RowPlan& plan, const RowContext& context) {
  if (!server_) {
    connect(context);
  }
  RowPlan here = plan;
  here.interface = client_end.name;
  try {
    return on_a_thread([&] {
      enter_network_namespace(server_->own_namespace);
      return send_row(here, server_->connection);
    });
  } catch (...) {
    server_.reset();  // it may be in the middle of the row
    throw;
  }
}

}  // namespace framewire
