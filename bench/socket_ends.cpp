#include "bench/socket_ends.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

/// Timeout for a message, for a read of a socket and for the end message.
constexpr std::int64_t timeout_ns = 10 * ns_per_s;
/// Additional time for each byte of payload: 10 MB/s is slow, but progress.
constexpr std::int64_t timeout_ns_per_byte = 100;
constexpr std::int64_t poll_interval_us = 500'000;

// The kinds of messages, in MessageHeader.
constexpr std::uint64_t message_kind = 0;
constexpr std::uint64_t warm_up_kind = 1;  // not counted; its answer means that the receiver is ready
constexpr std::uint64_t end_kind = 2;

struct MessageHeader {
  std::uint64_t kind = message_kind;
  std::int64_t sent_ns = 0;
};
static_assert(sizeof(MessageHeader) == 16);

/// The timeout of a message of that size.
std::int64_t limit_of(std::size_t size_bytes) noexcept {
  return timeout_ns + static_cast<std::int64_t>(size_bytes) * timeout_ns_per_byte;
}

/// A message in memory: a header and a payload that one system call transfers; either may be empty.
class IoVectors {
 public:
  IoVectors(const void* first, std::size_t first_bytes, std::span<const std::byte> second = {}) noexcept
      : parts_{{{.iov_base = const_cast<void*>(first), .iov_len = first_bytes},
                {.iov_base = const_cast<std::byte*>(second.data()), .iov_len = second.size()}}} {}

  [[nodiscard]] std::size_t left() const noexcept { return parts_[0].iov_len + parts_[1].iov_len; }
  [[nodiscard]] bool has_first() const noexcept { return parts_[0].iov_len == 0; }
  msghdr message() noexcept {
    msghdr message{};
    message.msg_iov = parts_.data();
    message.msg_iovlen = parts_.size();
    return message;
  }
  void have_moved(std::size_t bytes) noexcept {
    for (iovec& part : parts_) {
      const std::size_t of_this = std::min(bytes, part.iov_len);
      part.iov_base = static_cast<std::byte*>(part.iov_base) + of_this;
      part.iov_len -= of_this;
      bytes -= of_this;
    }
  }

 private:
  std::array<iovec, 2> parts_;
};

/// Calls `move` (sendmsg() or recvmsg()) until everything is transferred, or is_enough() returns true. False when the
/// peer is gone, or the deadline passes first. The deadline is for the whole message: a receiver that does not read
/// still accepts a few bytes now and then, when its kernel compacts its buffers.
template <typename Move, typename IsEnough>
bool move_all(IoVectors& vectors, std::int64_t deadline_ns, const PollControl& poll_control, Move move,
              IsEnough is_enough) {
  for (;;) {
    msghdr message = vectors.message();
    const ssize_t moved = move(message);
    vectors.have_moved(static_cast<std::size_t>(std::max<ssize_t>(moved, 0)));
    if (vectors.left() == 0 || is_enough()) {
      return true;
    }
    if (moved == 0 || (moved < 0 && !is_passing(errno))) {
      return false;
    }
    poll_control();
    if (monotonic_ns() >= deadline_ns) {
      return false;
    }
  }
}

bool send_all(int socket, IoVectors vectors, std::int64_t deadline_ns, const PollControl& poll_control) {
  return move_all(
      vectors, deadline_ns, poll_control,
      [=](const msghdr& message) { return ::sendmsg(socket, &message, MSG_NOSIGNAL); }, [] { return false; });
}

bool receive_all(int socket, IoVectors vectors, std::int64_t deadline_ns, const PollControl& poll_control) {
  return move_all(
      vectors, deadline_ns, poll_control, [=](msghdr& message) { return ::recvmsg(socket, &message, MSG_WAITALL); },
      [] { return false; });
}

/// Receives a header with its payload, or a header without one: the end message or an invalid one.
bool receive_message(int socket, MessageHeader& header, std::span<std::byte> payload, std::int64_t deadline_ns,
                     const PollControl& poll_control) {
  IoVectors vectors(&header, sizeof header, payload);
  return move_all(
      vectors, deadline_ns, poll_control, [=](msghdr& message) { return ::recvmsg(socket, &message, MSG_WAITALL); },
      [&] { return vectors.has_first() && header.kind >= end_kind; });
}

/// Throws Error when the first message is not a warm-up, or a later one has an unknown kind.
void require_known(const MessageHeader& header, const SocketReport& report) {
  const bool may_come = report.ready_ns == 0 ? header.kind == warm_up_kind : header.kind <= end_kind;
  if (!may_come) {
    throw Error::failed("the client sent a message of kind " + std::to_string(header.kind) +
                        (report.ready_ns == 0 ? " instead of a warm-up message" : ", which is unknown"));
  }
}

std::span<std::byte> slot_of(const HostBlock& block, const RowPlan& plan, std::uint64_t index) {
  return block.bytes().subspan(index % plan.slots * plan.message_bytes, plan.message_bytes);
}

/// Whether the receiver answers with one byte, which the sender waits for.
bool is_answered(std::uint64_t kind, const RowPlan& plan) noexcept {
  return kind == warm_up_kind || plan.operation == "latency";
}

}  // namespace

void set_up_plain_socket(int socket) {
  set_non_blocking(socket, false);
  const timeval timeout{.tv_sec = 0, .tv_usec = poll_interval_us};
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
}

SocketReceiver::SocketReceiver(const RowPlan& plan)
    : plan_(plan), block_(HostBlock::create_private("socket buffers", plan.message_bytes * plan.slots)) {}

SocketReport SocketReceiver::receive(int socket, const PollControl& poll_control) {
  SocketReport report;
  Histogram latency;
  std::int64_t cpu_begin_ns = process_cpu_ns();
  std::int64_t now_ns = monotonic_ns();
  std::int64_t next_poll_ns = 0;  // polls also when messages arrive without a pause
  std::uint64_t sum = 0;
  for (;;) {
    MessageHeader header;
    const auto slot = slot_of(*block_, plan_, report.count);
    if (!receive_message(socket, header, slot, now_ns + limit_of(slot.size()), poll_control)) {
      break;
    }
    now_ns = monotonic_ns();
    require_known(header, report);
    report.is_whole = header.kind == end_kind;
    if (report.is_whole) {
      break;
    }
    if (header.kind == message_kind) {
      report.last_ns = now_ns;
      ++report.count;
      if (!plan_.is_remote) {
        latency.add(now_ns - header.sent_ns);
      }
    }
    if (plan_.touches_payload) {
      sum += sum_of(slot);
    }
    if (header.kind == warm_up_kind) {
      cpu_begin_ns = process_cpu_ns();
      report.ready_ns = monotonic_ns();
    }
    if (is_answered(header.kind, plan_) && !send_all(socket, {&sum, 1}, now_ns + limit_of(1), poll_control)) {
      break;
    }
    if (now_ns >= next_poll_ns) {
      poll_control();
      next_poll_ns = now_ns + poll_interval_us * 1000;
    }
  }
  report.cpu_ns = process_cpu_ns() - cpu_begin_ns;
  report.latency_us = latency_of(latency);
  return report;
}

SocketSender::SocketSender(int socket, const RowPlan& plan, PollControl poll_control)
    : socket_(socket),
      plan_(plan),
      poll_control_(std::move(poll_control)),
      block_(HostBlock::create("socket buffers", plan.message_bytes * plan.slots)) {}

void SocketSender::send(std::uint64_t kind, std::uint64_t number) const {
  const auto slot = slot_of(*block_, plan_, number);
  if (plan_.touches_payload) {
    std::memset(slot.data(), static_cast<int>(number & 0xff), slot.size());
  }
  const MessageHeader header{.kind = kind, .sent_ns = monotonic_ns()};
  const std::int64_t limit_ns = limit_of(slot.size());
  const std::int64_t deadline_ns = header.sent_ns + limit_ns;
  char answer = 0;
  if (!send_all(socket_, {&header, sizeof header, slot}, deadline_ns, poll_control_) ||
      (is_answered(kind, plan_) && !receive_all(socket_, {&answer, 1}, deadline_ns, poll_control_))) {
    throw Error::lost_peer("the plain-socket server left, or has not taken a message within " +
                           std::to_string(limit_ns / ns_per_s) + " s");
  }
}

SocketSent SocketSender::send_all_messages() {
  send(warm_up_kind, 0);
  SocketSent sent{.begin_ns = monotonic_ns()};
  Histogram round_trip_halves;
  const std::int64_t cpu_begin_ns = process_cpu_ns();
  const std::int64_t period_ns = plan_.period_ns();
  for (std::int64_t now_ns = sent.begin_ns; !plan_.is_over(sent.count, now_ns - sent.begin_ns); ++sent.count) {
    poll_control_();
    if (period_ns > 0) {
      wait_until({}, sent.begin_ns + static_cast<std::int64_t>(sent.count) * period_ns);
      now_ns = monotonic_ns();
    }
    send(message_kind, sent.count);
    const std::int64_t before_ns = std::exchange(now_ns, monotonic_ns());
    if (plan_.operation == "latency") {
      round_trip_halves.add((now_ns - before_ns) / 2);
    }
  }
  const MessageHeader last{.kind = end_kind};
  send_all(socket_, {&last, sizeof last}, monotonic_ns() + limit_of(sizeof last), poll_control_);
  ::shutdown(socket_, SHUT_WR);  // the receiver waits for a whole message; this tells it at once that none follows
  sent.cpu_ns = process_cpu_ns() - cpu_begin_ns;
  sent.latency_us = latency_of(round_trip_halves);
  return sent;
}

SideResult client_result(const SocketSent& sent) {
  return {.count = sent.count,
          .seconds = static_cast<double>(monotonic_ns() - sent.begin_ns) / 1e9,
          .cpu_seconds = static_cast<double>(sent.cpu_ns) / 1e9,
          .latency_us = sent.latency_us,
          .transport = socket_transport};
}

}  // namespace framewire
