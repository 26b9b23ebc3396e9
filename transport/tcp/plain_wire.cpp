#include "transport/tcp/plain_wire.hpp"

#include <sys/sendfile.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

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

/// One recv(), repeated while signals interrupt it.
WireRead receive(int socket, std::span<std::byte> into, int flags) noexcept {
  for (;;) {
    const auto got = ::recv(socket, into.data(), into.size(), flags);
    if (got > 0) {
      return {.status = WireStatus::moved, .bytes = static_cast<std::size_t>(got)};
    }
    if (got == 0) {
      return {.status = WireStatus::closed};
    }
    if ((flags & MSG_DONTWAIT) != 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return {.status = WireStatus::again};
    }
    if (errno != EINTR) {
      return {.status = errno == ECONNRESET ? WireStatus::closed : WireStatus::failed};
    }
  }
}

}  // namespace

WireRead PlainWire::read(std::span<std::byte> into) noexcept {
  return receive(socket_.get(), into, 0);
}

WireStatus PlainWire::fill(std::span<std::byte> into) noexcept {
  while (!into.empty()) {
    const WireRead got = receive(socket_.get(), into, MSG_WAITALL);
    if (got.status != WireStatus::moved) {
      return got.status;
    }
    into = into.subspan(got.bytes);
  }
  return WireStatus::moved;
}

WireRead PlainWire::read_now(std::span<std::byte> into) noexcept {
  return receive(socket_.get(), into, MSG_DONTWAIT);
}

bool PlainWire::write(std::span<iovec> parts) noexcept {
  while (!parts.empty()) {
    std::size_t last_part_bytes = 0;
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts_for_one_call(parts, last_part_bytes);
    const std::size_t whole_bytes = std::exchange(parts[message.msg_iovlen - 1].iov_len, last_part_bytes);
    const auto sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    parts[message.msg_iovlen - 1].iov_len = whole_bytes;
    if (sent < 0) {
      if (errno == EINTR) {
        continue;
      }
      return false;
    }
    auto left = static_cast<std::size_t>(sent);
    while (!parts.empty() && left >= parts.front().iov_len) {
      left -= parts.front().iov_len;
      parts = parts.subspan(1);
    }
    if (left > 0) {
      parts.front().iov_base = static_cast<std::byte*>(parts.front().iov_base) + left;
      parts.front().iov_len -= left;
    }
  }
  return true;
}

FileWrite PlainWire::write_file(int file, std::uint64_t offset_bytes, std::uint64_t bytes) noexcept {
  auto offset = static_cast<off_t>(offset_bytes);
  while (bytes > 0) {
    const auto sent = ::sendfile(socket_.get(), file, &offset, std::min<std::uint64_t>(bytes, max_bytes_per_call));
    if (sent > 0) {
      bytes -= static_cast<std::uint64_t>(sent);
    } else if (sent == 0) {
      errno = ENODATA;
      return FileWrite::no_file;
    } else if (errno != EINTR) {
      return is_of_connection(errno) ? FileWrite::no_connection : FileWrite::no_file;
    }
  }
  return FileWrite::done;
}

bool PlainWire::write_now(std::span<const std::byte> bytes) noexcept {
  const auto sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent == static_cast<ssize_t>(bytes.size());
}

}  // namespace framewire
