#include "tests/sim/transfer.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tests/sim/descriptors.hpp"

namespace framewire::sim {

namespace {

/// Why nothing can be sent, or 0.
int send_error(const Socket& socket, std::int64_t now_ns) {
  if (!socket.is_connected()) {
    return ENOTCONN;
  }
  if (socket.in->resets_ns <= now_ns) {
    return socket.in->ends_ns < socket.in->resets_ns ? EPIPE : ECONNRESET;
  }
  const bool tells_at_once = socket.domain == AF_UNIX;  // that the peer has closed its socket
  return (tells_at_once && !socket.out->is_read) || socket.out->is_finished ? EPIPE : 0;
}

/// As TCP does: what is sent to a closed socket is taken, and answered with a reset, which comes after what the peer
/// has sent before. It overtakes only what the network has lost: that is never sent again.
void answer_with_reset(World& world, Socket& socket) {
  Direction& in = *socket.in;
  const std::int64_t answered_ns = world.now_ns() + socket.out->latency_ns + in.latency_ns;
  const std::int64_t resets_ns = Network::get().loses_packets ? answered_ns : std::max(answered_ns, in.free_ns);
  in.resets_ns = std::min(in.resets_ns, resets_ns);
  world.will_happen(in.resets_ns);
}

/// How much later a packet arrives that was lost once, or three times: TCP's timeout is 200 ms, and doubles.
std::int64_t resent_after_ns(World& world) {
  return world.chance(50) ? 200'000'000 : 1'400'000'000;
}

/// Puts bytes on the wire. They arrive in the order in which they were sent.
void put(World& world, Direction& out, std::string bytes, std::vector<PassedDescriptor> passed) {
  if (out.cut_ns != INT64_MAX) {
    out.waiting_bytes += bytes.size();  // sent, and never acknowledged
    out.lost_bytes += bytes.size();
    return;
  }
  const std::int64_t jitter_ns = out.latency_ns == 0 ? 0 : static_cast<std::int64_t>(world.below(20'000));
  out.free_ns = std::max(out.free_ns, world.now_ns() + out.latency_ns + jitter_ns);
  if (Network::get().loses_packets && out.latency_ns > 0 && world.chance(10)) {
    out.free_ns += resent_after_ns(world);
  }
  out.waiting_bytes += bytes.size();
  out.total_bytes += bytes.size();
  out.parts.push_back({.arrives_ns = out.free_ns, .bytes = std::move(bytes), .descriptors = std::move(passed)});
  world.will_happen(out.free_ns);
}

/// Copies arrived bytes to `into`; takes them unless `peeks`. At most one part with descriptors.
std::size_t take(World& world, Direction& in, std::string& into, std::size_t wanted, bool peeks,
                 std::vector<PassedDescriptor>* passed) {
  std::size_t taken = 0;
  for (std::size_t i = 0; i < in.parts.size() && taken < wanted && in.parts[i].arrives_ns <= world.now_ns();) {
    Direction::Part& part = in.parts[i];
    if (!part.descriptors.empty() && taken > 0) {
      break;  // a record with descriptors begins a call of its own
    }
    const std::size_t count = std::min(wanted - taken, part.bytes.size());
    into.append(part.bytes, 0, count);
    taken += count;
    if (peeks) {
      ++i;
      continue;
    }
    if (passed != nullptr) {
      *passed = std::exchange(part.descriptors, {});
    }
    in.waiting_bytes -= count;
    part.bytes.erase(0, count);
    if (!part.bytes.empty()) {
      break;
    }
    in.parts.pop_front();
  }
  return taken;
}

}  // namespace

std::string gather(std::span<const iovec> parts) {
  std::string bytes;
  for (const iovec& part : parts) {
    bytes.append(static_cast<const char*>(part.iov_base), part.iov_len);
  }
  return bytes;
}

ssize_t send_some(World& world, const std::shared_ptr<Socket>& socket, const std::string& bytes, int flags,
                  std::vector<PassedDescriptor> passed) {
  const bool waits = !socket->is_non_blocking && (flags & MSG_DONTWAIT) == 0;
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    if (const int error_number = send_error(*socket, world.now_ns()); error_number != 0) {
      if ((flags & MSG_NOSIGNAL) == 0) {
        world.fail("a send without MSG_NOSIGNAL would end the program");
      }
      return sent > 0 ? static_cast<ssize_t>(sent) : failed(error_number);
    }
    Direction& out = *socket->out;
    if (!out.is_read && out.cut_ns == INT64_MAX) {
      answer_with_reset(world, *socket);
      return static_cast<ssize_t>(bytes.size());
    }
    std::size_t room = out.capacity_bytes - std::min(out.capacity_bytes, out.waiting_bytes);
    if (room == 0) {
      if (!waits) {
        return sent > 0 ? static_cast<ssize_t>(sent) : failed(EAGAIN);
      }
      world.block("room in a socket",
                  [&] { return out.waiting_bytes < out.capacity_bytes || send_error(*socket, world.now_ns()) != 0; });
      continue;
    }
    room = std::min(room, bytes.size() - sent);
    // The kernel takes less than there is room for when it is short of memory; of a few bytes only over a network, and
    // only in some worlds.
    const bool may_take_none = Network::get().is_short_of_memory && socket->domain != AF_UNIX;
    const std::size_t few_bytes = may_take_none ? 1 : 512;
    if (!waits && room > few_bytes && world.chance(10)) {
      if (may_take_none && world.chance(30)) {
        return failed(EAGAIN);
      }
      room = 1 + world.below(room);
    }
    put(world, out, bytes.substr(sent, room), std::exchange(passed, {}));
    sent += room;
    if (!waits && sent < bytes.size()) {
      break;
    }
  }
  return static_cast<ssize_t>(sent);
}

ssize_t receive_some(World& world, const std::shared_ptr<Socket>& socket, std::string& into, std::size_t wanted,
                     int flags, std::vector<PassedDescriptor>* passed) {
  if (!socket->is_connected()) {
    return failed(socket->error != 0 ? socket->error : ENOTCONN);
  }
  Direction& in = *socket->in;
  const bool waits = !socket->is_non_blocking && (flags & MSG_DONTWAIT) == 0;
  const bool wants_all = (flags & MSG_WAITALL) != 0 && waits;
  const auto can_take = [&] {
    const std::int64_t now_ns = world.now_ns();
    return in.arrived_bytes(now_ns) >= (wants_all ? wanted : 1) || in.ends_ns <= now_ns || in.resets_ns <= now_ns;
  };
  if (waits) {
    // A receiver that waits for more than the sender's buffer holds takes what comes meanwhile.
    while (wants_all && !can_take() && in.arrived_bytes(world.now_ns()) > 0) {
      const std::size_t got = take(world, in, into, wanted, false, passed);
      wanted -= got;
      world.block("more bytes", [&] { return can_take() || in.arrived_bytes(world.now_ns()) > 0; });
    }
    world.block("bytes", [&] { return can_take() || (wants_all && in.arrived_bytes(world.now_ns()) > 0); });
    if (wants_all && !can_take()) {
      return receive_some(world, socket, into, wanted, flags, passed);
    }
  }
  const bool peeks = (flags & MSG_PEEK) != 0;
  const std::size_t arrived = in.arrived_bytes(world.now_ns());
  // As Linux: behind the end of what was sent, a reset is no error.
  if (arrived == 0 && in.resets_ns <= std::min(world.now_ns(), in.ends_ns)) {
    return into.empty() ? failed(ECONNRESET) : static_cast<ssize_t>(into.size());
  }
  if (arrived == 0) {
    return in.ends_ns <= world.now_ns() || !into.empty() ? static_cast<ssize_t>(into.size()) : failed(EAGAIN);
  }
  wanted = std::min(wanted, arrived);
  if (!wants_all && !peeks && passed == nullptr && wanted > 1 && world.chance(10)) {
    wanted = 1 + world.below(wanted);
  }
  take(world, in, into, wanted, peeks, passed);
  Network::get().reads[world.process()] += peeks ? 0 : 1;
  return static_cast<ssize_t>(into.size());
}

void scatter(const std::string& bytes, std::span<const iovec> parts) {
  std::size_t done = 0;
  for (const iovec& part : parts) {
    const std::size_t count = std::min(part.iov_len, bytes.size() - done);
    std::memcpy(part.iov_base, bytes.data() + done, count);
    done += count;
  }
}

std::size_t size_of(std::span<const iovec> parts) {
  std::size_t bytes = 0;
  for (const iovec& part : parts) {
    bytes += part.iov_len;
  }
  return bytes;
}

std::vector<PassedDescriptor> descriptors_to_pass(World& world, const msghdr& message) {
  std::vector<PassedDescriptor> passed;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&message), part)) {
    for (std::size_t i = 0; i < (part->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      passed.push_back(fd >= first_fd ? PassedDescriptor{.file = descriptors().file(world, fd)}
                                      : PassedDescriptor{.file = nullptr, .real_fd = ::dup(fd)});
    }
  }
  return passed;
}

void hand_over(msghdr& message, const std::vector<PassedDescriptor>& passed) {
  const std::size_t bytes = passed.size() * sizeof(int);
  if (passed.empty()) {
    message.msg_controllen = 0;
    return;
  }
  cmsghdr* const part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(bytes);
  for (std::size_t i = 0; i < passed.size(); ++i) {
    const int fd = passed[i].file != nullptr ? descriptors().add(passed[i].file) : passed[i].real_fd;
    std::memcpy(CMSG_DATA(part) + i * sizeof fd, &fd, sizeof fd);
  }
  message.msg_controllen = CMSG_SPACE(bytes);
}

}  // namespace framewire::sim
