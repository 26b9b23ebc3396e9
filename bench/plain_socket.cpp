#include "bench/plain_socket.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/histogram.hpp"
#include "base/text.hpp"
#include "bench/protocol.hpp"

namespace framewire {

namespace {

constexpr int timeout_ms = 10'000;
constexpr std::int64_t connect_timeout_ns = 10 * ns_per_s;
constexpr std::uint64_t magic = 0x4e49414c50574646;  // "FFWPLAIN" as little-endian bytes

/// The client's first bytes. Both ends are this program, so the order of bytes is this machine's.
struct Request {
  std::uint64_t magic = 0;
  std::uint64_t message_bytes = 0;
  std::uint64_t is_answered = 0;  // "latency": one byte comes back for each message
  std::uint64_t touches_payload = 0;
};

/// In front of every message.
struct Header {
  std::uint64_t is_end = 0;  // of the row: the payload is none, but is there, so that every message is as long
};

/// The server's last bytes.
struct Report {
  std::uint64_t count = 0;
  std::int64_t took_ns = 0;  // from the answer to the request to the last message
  std::int64_t cpu_ns = 0;
};

// ---- poll(), send(), recv() ----

void await(int socket, short events, const char* what) {
  pollfd one{.fd = socket, .events = events, .revents = 0};
  int ready = -1;
  do {
    ready = ::poll(&one, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) {
    throw Error::from_errno("poll a plain socket", errno);
  }
  if (ready == 0) {
    throw Error::lost_peer(fmt::format("the other end of a plain socket has not {} for {} s", what, timeout_ms / 1000));
  }
}

/// A blocking send() waits until the stack has room for all. So it gets little at a time: a peer that stops is then
/// found by poll(), unless the room that there was is less than this.
void send_all(int socket, std::span<const std::byte> bytes) {
  constexpr std::size_t most_at_once = std::size_t{64} * 1024;
  while (!bytes.empty()) {
    await(socket, POLLOUT, "read");
    const ssize_t sent = ::send(socket, bytes.data(), std::min(bytes.size(), most_at_once), 0);
    if (sent < 0 && errno != EINTR && errno != EAGAIN) {
      throw Error::lost_peer("the other end of a plain socket is gone: " + errno_text(errno));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
  }
}

/// False at the end of the stream, if no byte came before it.
bool receive_all(int socket, std::span<std::byte> into) {
  for (std::size_t done = 0; done < into.size();) {
    await(socket, POLLIN, "sent");
    const ssize_t got = ::recv(socket, into.data() + done, into.size() - done, 0);
    if (got == 0 && done == 0) {
      return false;
    }
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) {
      throw Error::lost_peer("the other end of a plain socket is gone" +
                             (got < 0 ? ": " + errno_text(errno) : std::string(" in the middle of a message")));
    }
    done += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  }
  return true;
}

template <typename Record>
void send_record(int socket, const Record& record) {
  send_all(socket, std::as_bytes(std::span(&record, 1)));
}

template <typename Record>
bool receive_record(int socket, Record& record) {
  return receive_all(socket, std::as_writable_bytes(std::span(&record, 1)));
}

[[noreturn]] void throw_end() {
  throw Error::lost_peer("the other end of a plain socket has closed it");
}

// ---- Addresses ----

/// A name would have to be asked for, by sockets that are none of the row's.
std::pair<sockaddr_storage, socklen_t> numeric_address(const HostPort& at) {
  sockaddr_storage storage{};
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&storage);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&storage);
  if (::inet_pton(AF_INET, at.host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(at.port);
    return {storage, sizeof(sockaddr_in)};
  }
  if (::inet_pton(AF_INET6, at.host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(at.port);
    return {storage, sizeof(sockaddr_in6)};
  }
  throw Error::usage("with --plain, " + quote(at.host) + " has to be a numeric address, such as 127.0.0.1");
}

FileDescriptor make_socket(const sockaddr_storage& address) {
  FileDescriptor made(::socket(address.ss_family, SOCK_STREAM, 0));
  if (!made.valid()) {
    throw Error::from_errno("make a plain socket", errno);
  }
  return made;
}

// ---- The server ----

/// The memory of a row: a header and a payload, one behind the other, so that one call can move both.
std::vector<std::byte> message_memory(std::uint64_t message_bytes) {
  return std::vector<std::byte>(sizeof(Header) + message_bytes);
}

Request read_request(int socket) {
  Request request;
  if (!receive_record(socket, request)) {
    throw_end();
  }
  if (request.magic != magic || request.message_bytes == 0 || request.message_bytes > max_bench_message_bytes) {
    throw Error::failed("a client of --plain sent no request; both ends need --plain, and the same release");
  }
  return request;
}

/// Returns what was received until the client's end.
Report receive_row(int socket, const Request& request) {
  std::vector<std::byte> memory = message_memory(request.message_bytes);
  Report report;
  std::byte answer{1};
  send_all(socket, {&answer, 1});
  const std::int64_t begin_ns = monotonic_ns();
  const std::int64_t cpu_begin_ns = process_cpu_ns();
  for (;;) {
    if (!receive_all(socket, memory)) {
      throw_end();
    }
    Header header;
    std::memcpy(&header, memory.data(), sizeof header);
    if (header.is_end != 0) {
      break;
    }
    const auto payload = std::span(memory).subspan(sizeof header);
    report.took_ns = monotonic_ns() - begin_ns;
    ++report.count;
    answer = request.touches_payload != 0 ? static_cast<std::byte>(sum_of(payload)) : answer;
    if (request.is_answered != 0) {
      send_all(socket, {&answer, 1});
    }
  }
  report.cpu_ns = process_cpu_ns() - cpu_begin_ns;
  return report;
}

void serve_one(int socket) {
  const Request request = read_request(socket);
  const Report report = receive_row(socket, request);
  send_record(socket, report);
  print_line(fmt::format("plain  {:>9} messages of {} bytes in {:.3f} s", report.count, request.message_bytes,
                         static_cast<double>(report.took_ns) / 1e9));
  std::byte rest{};  // none comes: closing before the client has closed could lose the report
  static_cast<void>(receive_all(socket, {&rest, 1}));
}

}  // namespace

void serve_plain_rows(const HostPort& at) {
  const auto [address, address_bytes] = numeric_address(at);
  const FileDescriptor listener = make_socket(address);
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), address_bytes) != 0 ||
      ::listen(listener.get(), 4) != 0) {
    throw Error::from_errno("listen on " + format_host_port(at), errno);
  }
  for (;;) {
    const FileDescriptor client(::accept(listener.get(), nullptr, nullptr));
    if (!client.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) {
        continue;
      }
      throw Error::from_errno("accept a plain connection", errno);
    }
    try {
      serve_one(client.get());
    } catch (const std::exception& error) {
      std::fputs(("framewire-bench: a client's row ended early: " + printable(error.what()) + "\n").c_str(), stderr);
    }
  }
}

// ---- The client ----

namespace {

FileDescriptor connect_to(const HostPort& server) {
  const auto [address, address_bytes] = numeric_address(server);
  for (const std::int64_t give_up_ns = monotonic_ns() + connect_timeout_ns;;) {
    FileDescriptor made = make_socket(address);
    if (::connect(made.get(), reinterpret_cast<const sockaddr*>(&address), address_bytes) == 0) {
      return made;
    }
    if (monotonic_ns() >= give_up_ns || (errno != ECONNREFUSED && errno != EINTR)) {
      throw Error::lost_peer("no plain bench server answers at " + format_host_port(server) + ": " + errno_text(errno) +
                             "; start one with framewire bench --listen " + format_host_port(server) + " --plain");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

class PlainSender {
 public:
  PlainSender(int socket, const RowPlan& plan)
      : socket_(socket), plan_(plan), memory_(message_memory(plan.message_bytes)) {}

  SideResult send();

 private:
  void await_answer() const {
    std::byte answer{};
    if (!receive_all(socket_, {&answer, 1})) {
      throw_end();
    }
  }
  void send_message(std::uint64_t number, bool is_end = false);

  const int socket_;
  const RowPlan& plan_;
  std::vector<std::byte> memory_;
};

void PlainSender::send_message(std::uint64_t number, bool is_end) {
  const auto payload = std::span(memory_).subspan(sizeof(Header));
  if (plan_.touches_payload) {
    std::memset(payload.data(), static_cast<int>(number & 0xff), payload.size());
  }
  const Header header{.is_end = is_end ? 1U : 0U};
  std::memcpy(memory_.data(), &header, sizeof header);
  send_all(socket_, memory_);
}

SideResult PlainSender::send() {
  const bool is_latency = plan_.operation == "latency";
  send_record(socket_, Request{.magic = magic,
                               .message_bytes = plan_.message_bytes,
                               .is_answered = is_latency ? 1U : 0U,
                               .touches_payload = plan_.touches_payload ? 1U : 0U});
  await_answer();
  SideResult sent;
  sent.transport = socket_transport;
  Histogram round_trip_halves;
  const std::int64_t begin_ns = monotonic_ns();
  const std::int64_t cpu_begin_ns = process_cpu_ns();
  for (std::int64_t now_ns = begin_ns; !plan_.is_over(sent.count, now_ns - begin_ns); ++sent.count) {
    send_message(sent.count);
    if (is_latency) {
      await_answer();
    }
    const std::int64_t before_ns = std::exchange(now_ns, monotonic_ns());
    if (is_latency) {
      round_trip_halves.add((now_ns - before_ns) / 2);
    }
  }
  send_message(0, true);
  sent.seconds = static_cast<double>(monotonic_ns() - begin_ns) / 1e9;
  sent.cpu_seconds = static_cast<double>(process_cpu_ns() - cpu_begin_ns) / 1e9;
  sent.latency_us = latency_of(round_trip_halves);
  return sent;
}

}  // namespace

RowResult measure_plain_row(const RowPlan& plan, const HostPort& server) {
  const FileDescriptor socket = connect_to(server);
  RowResult row{.plan = plan, .client = PlainSender(socket.get(), plan).send(), .server = {}};
  Report report;
  if (!receive_record(socket.get(), report)) {
    throw_end();
  }
  row.server = {.count = report.count,
                .seconds = static_cast<double>(report.took_ns) / 1e9,
                .cpu_seconds = static_cast<double>(report.cpu_ns) / 1e9,
                .latency_us = {},
                .transport = socket_transport};
  if (report.count != row.client.count) {
    throw Error::failed(fmt::format("the server received {} of {} messages", report.count, row.client.count));
  }
  return row;
}

}  // namespace framewire
