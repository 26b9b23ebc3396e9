#include "transport/tcp/plain_wire.hpp"

#include <sys/sendfile.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/wait.hpp"

namespace framewire {

namespace {

/// How much of a large frame one system call gets. A call holds the socket until it has queued everything, and
/// acknowledgements that arrive meanwhile wait in the backlog. Over loopback, 33 MB in one call is at times a quarter
/// slower, and calls of less than 512 KiB are too many (docs/performance.md).
constexpr std::size_t max_bytes_per_call = std::size_t{768} * 1024;

/// How many parts one call takes, at least one. Cuts the last of them to the limit of the call.
std::size_t parts_for_one_call(std::span<const iovec> parts, std::size_t& last_part_bytes) noexcept {
  std::size_t bytes = 0;
  std::size_t count = 0;
  while (count < parts.size() && bytes < max_bytes_per_call) {
    last_part_bytes = std::min(parts[count].iov_len, max_bytes_per_call - bytes);
    bytes += last_part_bytes;
    ++count;
  }
  return count;
}

/// The sendfile() errors that mean a closed connection, from tcp(7) and ip(7).
bool is_of_connection(int error_number) noexcept {
  constexpr std::array numbers{EPIPE,        ECONNRESET,  ECONNABORTED, ETIMEDOUT, ENOTCONN,
                               EHOSTUNREACH, ENETUNREACH, EHOSTDOWN,    ENETDOWN};
  return std::ranges::find(numbers, error_number) != numbers.end();
}

}  // namespace

WireRead PlainWire::read(std::span<std::byte> first, std::span<std::byte> second) noexcept {
  std::array<iovec, 2> parts{{{first.data(), first.size()}, {second.data(), second.size()}}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  for (;;) {
    const auto got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
    if (got > 0) {
      return {.status = WireStatus::moved, .bytes = static_cast<std::size_t>(got)};
    }
    if (got == 0) {
      return {.status = WireStatus::closed};
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return {.status = WireStatus::again};
    }
    if (errno != EINTR) {
      return {.status = errno == ECONNRESET ? WireStatus::closed : WireStatus::failed};
    }
  }
}

WireWrite PlainWire::write_some(std::span<iovec>& parts) noexcept {
  drop_written(parts, 0);
  if (parts.empty()) {
    return WireWrite::done;
  }
  std::size_t last_part_bytes = 0;
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts_for_one_call(parts, last_part_bytes);
  iovec& last = parts[message.msg_iovlen - 1];
  const std::size_t whole_bytes = std::exchange(last.iov_len, last_part_bytes);
  const std::size_t asked_bytes = size_bytes(parts.first(message.msg_iovlen));
  const auto sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  last.iov_len = whole_bytes;
  if (sent < 0) {
    return errno == EINTR ? WireWrite::more : is_passing(errno) ? WireWrite::full : WireWrite::failed;
  }
  drop_written(parts, static_cast<std::size_t>(sent));
  if (parts.empty()) {
    return WireWrite::done;
  }
  return static_cast<std::size_t>(sent) < asked_bytes ? WireWrite::full : WireWrite::more;
}

WireWrite PlainWire::write_file(int file, std::uint64_t& offset_bytes, std::uint64_t& left_bytes) noexcept {
  if (left_bytes == 0) {
    return WireWrite::done;
  }
  auto offset = static_cast<off_t>(offset_bytes);
  const auto sent = ::sendfile(socket_.get(), file, &offset, std::min<std::uint64_t>(left_bytes, max_bytes_per_call));
  if (sent > 0) {
    offset_bytes += static_cast<std::uint64_t>(sent);
    left_bytes -= static_cast<std::uint64_t>(sent);
    return left_bytes == 0 ? WireWrite::done : WireWrite::more;
  }
  if (sent == 0) {
    errno = ENODATA;
    return WireWrite::no_file;
  }
  if (is_passing(errno)) {
    return errno == EINTR ? WireWrite::more : WireWrite::full;
  }
  return is_of_connection(errno) ? WireWrite::failed : WireWrite::no_file;
}

}  // namespace framewire
