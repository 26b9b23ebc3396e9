#include "bench/plain_socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/wait.hpp"
#include "bench/client.hpp"
#include "memory/host_block.hpp"
#include "transport/control/tcp_options.hpp"

namespace framewire {

namespace {

/// For a message, a read of a socket, and the last word.
constexpr std::int64_t patience_ns = 10 * ns_per_s;
/// And so much more for what it holds: 10 MB/s is slow, but moves.
constexpr std::int64_t patience_ns_per_byte = 100;

enum class Kind : std::uint64_t {
  message,
  warm_up,  // before the messages: it counts for nothing, and its answer says that the receiver is ready
  end,
};

struct MessageHeader {
  Kind kind = Kind::message;
  std::int64_t sent_ns = 0;
};
static_assert(sizeof(MessageHeader) == 16);

struct ServerReport {
  std::uint64_t count = 0;
  std::int64_t last_ns = 0;
  std::int64_t cpu_ns = 0;
  LatencyUs latency_us;
};

/// False when the other end is gone, or may have been stopped. A receiver that stands still can still take a few bytes
/// now and then, as its kernel tidies up what it holds: what counts is that all of it went, since `begin_ns`.
bool send_all(int socket, const void* data, std::size_t size, std::int64_t begin_ns, int flags = 0) {
  const auto* at = static_cast<const std::byte*>(data);
  for (;;) {
    const auto sent = ::send(socket, at, size, MSG_NOSIGNAL | flags);
    if (sent == static_cast<ssize_t>(size)) {
      return true;
    }
    const std::int64_t limit_ns = patience_ns + static_cast<std::int64_t>(size) * patience_ns_per_byte;
    if (sent <= 0 || monotonic_ns() - begin_ns >= limit_ns) {
      return false;
    }
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
}

bool receive_all(int socket, void* data, std::size_t size) {
  auto* at = static_cast<std::byte*>(data);
  while (size > 0) {
    const auto got = ::recv(socket, at, size, MSG_WAITALL);
    if (got <= 0) {
      return false;
    }
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

void set_up(int socket) {
  const timeval patience{.tv_sec = patience_ns / ns_per_s, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

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
  set_up(client.get());
  set_up(server.get());
  return {std::move(client), std::move(server)};
}

std::span<std::byte> slot_of(const HostBlock& block, const RowPlan& plan, std::uint64_t index) {
  return block.bytes().subspan(index % plan.slots * plan.message_bytes, plan.message_bytes);
}

void serve(int socket, int report_pipe, const RowPlan& plan) {
  const auto block = HostBlock::create_private("socket buffers", plan.message_bytes * plan.slots);
  ServerReport report;
  Histogram latency;
  std::int64_t cpu_begin_ns = process_cpu_ns();
  std::uint64_t sum = 0;
  for (MessageHeader header; receive_all(socket, &header, sizeof header) && header.kind != Kind::end;) {
    const auto slot = slot_of(*block, plan, report.count);
    if (!receive_all(socket, slot.data(), slot.size())) {
      break;
    }
    report.last_ns = monotonic_ns();
    if (plan.touches_payload) {
      sum = std::accumulate(slot.begin(), slot.end(), sum,
                            [](std::uint64_t s, std::byte b) { return s + std::to_integer<std::uint64_t>(b); });
    }
    if (header.kind == Kind::warm_up) {
      cpu_begin_ns = process_cpu_ns();
    } else {
      latency.add(report.last_ns - header.sent_ns);
      ++report.count;
    }
    if ((header.kind == Kind::warm_up || plan.operation == "latency") && !send_all(socket, &sum, 1, report.last_ns)) {
      break;
    }
  }
  report.cpu_ns = process_cpu_ns() - cpu_begin_ns;
  report.latency_us = latency_of(latency);
  [[maybe_unused]] const auto written = ::write(report_pipe, &report, sizeof report);
}

/// The sending end, whose memory stands before its first message.
class Sender {
 public:
  Sender(int socket, const RowPlan& plan)
      : socket_(socket), plan_(plan), block_(HostBlock::create("socket buffers", plan.message_bytes * plan.slots)) {}

  void send(Kind kind, std::uint64_t number) const {
    const auto slot = slot_of(*block_, plan_, number);
    if (plan_.touches_payload) {
      std::memset(slot.data(), static_cast<int>(number & 0xff), slot.size());
    }
    const MessageHeader header{.kind = kind, .sent_ns = monotonic_ns()};
    char answer = 0;
    if (!send_all(socket_, &header, sizeof header, header.sent_ns, MSG_MORE) ||
        !send_all(socket_, slot.data(), slot.size(), header.sent_ns) ||
        ((kind == Kind::warm_up || plan_.operation == "latency") && !receive_all(socket_, &answer, 1))) {
      throw Error::lost_peer("the plain-socket server left, or has not taken a message within " +
                             std::to_string(patience_ns / ns_per_s) + " s");
    }
  }

  /// Until the plan is fulfilled; returns how many.
  [[nodiscard]] std::uint64_t send_messages(std::int64_t begin_ns, const Interruption& interruption) const {
    const std::int64_t period_ns = plan_.rate_per_s > 0 ? static_cast<std::int64_t>(1e9 / plan_.rate_per_s) : 0;
    std::uint64_t count = 0;
    for (; !plan_.is_over(count, monotonic_ns() - begin_ns); ++count) {
      throw_if_interrupted(interruption);
      if (period_ns > 0) {
        wait_until({}, begin_ns + static_cast<std::int64_t>(count) * period_ns);
      }
      send(Kind::message, count);
    }
    const MessageHeader last{.kind = Kind::end};
    send_all(socket_, &last, sizeof last, monotonic_ns());
    return count;
  }

 private:
  int socket_;
  const RowPlan& plan_;
  std::shared_ptr<HostBlock> block_;
};

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

ServerReport read_report(int pipe, std::uint64_t sent) {
  ServerReport report;
  if (!wait_for(pipe, POLLIN, monotonic_ns() + patience_ns) ||
      ::read(pipe, &report, sizeof report) != static_cast<ssize_t>(sizeof report) || report.count != sent) {
    throw Error::failed("the plain-socket server did not receive every message");
  }
  return report;
}

RowResult measure_from(const Sender& sender, int report_pipe, const RowPlan& plan, const Interruption& interruption) {
  sender.send(Kind::warm_up, 0);
  RowResult row{.plan = plan, .client = {}, .server = {}};
  const std::int64_t begin_ns = monotonic_ns();
  const std::int64_t cpu_begin_ns = process_cpu_ns();
  row.client.count = sender.send_messages(begin_ns, interruption);
  const ServerReport report = read_report(report_pipe, row.client.count);
  row.client.seconds = static_cast<double>(monotonic_ns() - begin_ns) / 1e9;
  row.client.cpu_seconds = static_cast<double>(process_cpu_ns() - cpu_begin_ns) / 1e9;
  row.server = {.count = report.count,
                .seconds = static_cast<double>(report.last_ns - begin_ns) / 1e9,
                .cpu_seconds = static_cast<double>(report.cpu_ns) / 1e9,
                .latency_us = report.latency_us,
                .transport = "socket"};
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
      serve(server.get(), report_out.get(), plan);
    } catch (const std::exception&) {
      ::_exit(1);  // the client sees that no report came
    }
    ::_exit(0);
  }
  const Child child(pid);
  server.reset();
  report_out.reset();
  return measure_from(Sender(client.get(), plan), report_in.get(), plan, interruption);
}

}  // namespace framewire
