#include "bench/plain_socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/wait.hpp"
#include "bench/client.hpp"
#include "bench/socket_ends.hpp"
#include "transport/control/tcp_options.hpp"

namespace framewire {

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
    set_tcp_options(socket->get(), TcpScope::this_machine);  // as the tcp link has it, beside which the row stands
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

/// The receiving process; it is gone when this is.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() {
    ::kill(pid_, SIGKILL);  // it has reported, or will not
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

 private:
  pid_t pid_;
};

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
  row.client = {.count = sent.count,
                .seconds = static_cast<double>(monotonic_ns() - sent.begin_ns) / 1e9,
                .cpu_seconds = static_cast<double>(sent.cpu_ns) / 1e9,
                .latency_us = sent.latency_us,
                .transport = socket_transport};
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
    ::prctl(PR_SET_NAME, "socket-server");  // for top and ps, where it is one of three of the same name
    client.reset();
    try {
      const SocketReport report = SocketReceiver(plan).receive(server.get(), [] {});
      [[maybe_unused]] const auto written = ::write(report_out.get(), &report, sizeof report);
    } catch (const std::exception&) {
      ::_exit(1);  // the client sees that no report came
    }
    ::_exit(0);
  }
  const Child child(pid);
  server.reset();
  report_out.reset();
  return measure_from(SocketSender(client.get(), plan, [&] { throw_if_interrupted(interruption); }), report_in.get(),
                      plan);
}

}  // namespace framewire
