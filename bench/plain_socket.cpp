#include "bench/plain_socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "memory/host_block.hpp"

namespace framewire {

namespace {

constexpr std::size_t header_bytes = 16;  // sent time and a flag that says whether more follows

struct MessageHeader {
  std::int64_t sent_ns = 0;
  std::uint64_t more = 1;
};
static_assert(sizeof(MessageHeader) == header_bytes);

struct ServerReport {
  std::uint64_t count = 0;
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  std::int64_t cpu_ns = 0;
  LatencyUs latency_us;
};

bool send_all(int socket, const void* data, std::size_t size, int flags = 0) {
  const auto* at = static_cast<const std::byte*>(data);
  while (size > 0) {
    const auto sent = ::send(socket, at, size, MSG_NOSIGNAL | flags);
    if (sent <= 0) {
      return false;
    }
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
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

std::pair<FileDescriptor, FileDescriptor> connected_pair() {
  FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  FileDescriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener.get(), generic, size) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), generic, &size) != 0 || ::connect(client.get(), generic, size) != 0) {
    throw Error::from_errno("connect over loopback", errno);
  }
  FileDescriptor server(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!server.valid()) {
    throw Error::from_errno("accept over loopback", errno);
  }
  const int on = 1;
  for (const int fd : {client.get(), server.get()}) {
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return {std::move(client), std::move(server)};
}

std::span<std::byte> slot_of(const HostBlock& block, const RowPlan& plan, std::uint64_t index) {
  return block.bytes().subspan(index % plan.slots * plan.message_bytes, plan.message_bytes);
}

void serve(int socket, int report_pipe, const RowPlan& plan) {
  const auto block = HostBlock::create_private("socket buffers", plan.message_bytes * plan.slots);
  ServerReport report;
  Histogram latency;
  const std::int64_t cpu_begin_ns = process_cpu_ns();
  std::uint64_t sum = 0;
  for (MessageHeader header; receive_all(socket, &header, sizeof header) && header.more != 0;) {
    const auto slot = slot_of(*block, plan, report.count);
    if (!receive_all(socket, slot.data(), slot.size())) {
      break;
    }
    report.last_ns = monotonic_ns();
    report.first_ns = report.first_ns == 0 ? report.last_ns : report.first_ns;
    latency.add(report.last_ns - header.sent_ns);
    if (plan.touches_payload) {
      sum = std::accumulate(slot.begin(), slot.end(), sum,
                            [](std::uint64_t s, std::byte b) { return s + std::to_integer<std::uint64_t>(b); });
    }
    ++report.count;
    if (plan.operation == "latency" && !send_all(socket, &sum, 1)) {
      break;
    }
  }
  report.cpu_ns = process_cpu_ns() - cpu_begin_ns;
  report.latency_us = latency_of(latency);
  [[maybe_unused]] const auto written = ::write(report_pipe, &report, sizeof report);
}

std::uint64_t send_messages(int socket, const RowPlan& plan) {
  const auto block = HostBlock::create("socket buffers", plan.message_bytes * plan.slots);
  const std::int64_t begin_ns = monotonic_ns();
  std::uint64_t count = 0;
  for (; !plan.is_over(count, monotonic_ns() - begin_ns); ++count) {
    const auto slot = slot_of(*block, plan, count);
    if (plan.touches_payload) {
      std::memset(slot.data(), static_cast<int>(count & 0xff), slot.size());
    }
    const MessageHeader header{.sent_ns = monotonic_ns()};
    char answer = 0;
    if (!send_all(socket, &header, sizeof header, MSG_MORE) || !send_all(socket, slot.data(), slot.size()) ||
        (plan.operation == "latency" && !receive_all(socket, &answer, 1))) {
      throw Error::lost_peer("the plain-socket server left");
    }
  }
  const MessageHeader last{.more = 0};
  send_all(socket, &last, sizeof last);
  return count;
}

}  // namespace

RowResult measure_plain_socket(const RowPlan& plan) {
  auto [client, server] = connected_pair();
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) {
    throw Error::from_errno("make a pipe", errno);
  }
  FileDescriptor report_in(pipe_ends[0]);
  FileDescriptor report_out(pipe_ends[1]);
  const pid_t child = ::fork();
  if (child < 0) {
    throw Error::from_errno("start the plain-socket server", errno);
  }
  if (child == 0) {
    client.reset();
    try {
      serve(server.get(), report_out.get(), plan);
    } catch (const std::exception&) {
      ::_exit(1);  // the client sees that no report came
    }
    ::_exit(0);
  }
  server.reset();
  report_out.reset();
  RowResult row{.plan = plan, .client = {}, .server = {}};
  const std::int64_t begin_ns = monotonic_ns();
  const std::int64_t cpu_begin_ns = process_cpu_ns();
  row.client.count = send_messages(client.get(), plan);
  ServerReport report;
  const auto got = ::read(report_in.get(), &report, sizeof report);
  row.client.seconds = static_cast<double>(monotonic_ns() - begin_ns) / 1e9;
  row.client.cpu_seconds = static_cast<double>(process_cpu_ns() - cpu_begin_ns) / 1e9;
  ::waitpid(child, nullptr, 0);
  if (got != static_cast<ssize_t>(sizeof report) || report.count != row.client.count) {
    throw Error::failed("the plain-socket server did not receive every message");
  }
  row.server = {.count = report.count,
                .seconds = static_cast<double>(report.last_ns - report.first_ns) / 1e9,
                .cpu_seconds = static_cast<double>(report.cpu_ns) / 1e9,
                .latency_us = report.latency_us,
                .transport = "socket"};
  return row;
}

}  // namespace framewire
