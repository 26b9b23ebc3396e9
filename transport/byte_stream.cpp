#include "transport/byte_stream.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

void wait_for_peer(int fd, short events, std::int64_t deadline_ns) {
  wait_or_throw(fd, events, deadline_ns, events == POLLIN ? "no answer in time" : "data was not taken in time");
}

}  // namespace

std::size_t ByteStream::read_some(std::span<std::byte> into, std::int64_t deadline_ns) {
  for (;;) {
    const IoResult result = read_now(into);
    switch (result.status) {
      case IoStatus::moved:
        return result.bytes;
      case IoStatus::closed:
        return 0;
      case IoStatus::failed:
        throw Error::lost_peer(fault());
      case IoStatus::again:
        wait_for_peer(fd(), result.wait_events, deadline_ns);
    }
  }
}

void ByteStream::read_all(std::span<std::byte> into, std::int64_t deadline_ns) {
  while (!into.empty()) {
    const std::size_t bytes = read_some(into, deadline_ns);
    if (bytes == 0) {
      throw Error::lost_peer("the connection was closed");
    }
    into = into.subspan(bytes);
  }
}

void ByteStream::write_all(std::span<const std::byte> from, std::int64_t deadline_ns) {
  while (!from.empty()) {
    const IoResult result = write_now(from);
    switch (result.status) {
      case IoStatus::moved:
        from = from.subspan(result.bytes);
        break;
      case IoStatus::closed:
        throw Error::lost_peer("the connection was closed");
      case IoStatus::failed:
        throw Error::lost_peer(fault());
      case IoStatus::again:
        wait_for_peer(fd(), result.wait_events, deadline_ns);
    }
  }
}

void ByteStream::hang_up(std::int64_t deadline_ns) noexcept {
  end_writing();
  std::array<std::byte, 512> dropped{};
  while (monotonic_ns() < deadline_ns) {
    const IoResult result = read_now(dropped);
    if (result.status == IoStatus::again) {
      wait_for(fd(), POLLIN, deadline_ns);
    } else if (result.status != IoStatus::moved) {
      break;
    }
  }
  close();
}

FdStream::FdStream(FileDescriptor socket) : socket_(std::move(socket)) {
  set_non_blocking(socket_.get(), true);
}

IoResult FdStream::read_now(std::span<std::byte> into) noexcept {
  for (;;) {
    const ssize_t got = ::recv(socket_.get(), into.data(), into.size(), MSG_DONTWAIT);
    if (got > 0) {
      return {.status = IoStatus::moved, .bytes = static_cast<std::size_t>(got)};
    }
    if (got == 0) {
      return {.status = IoStatus::closed};
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return {.status = IoStatus::again, .wait_events = POLLIN};
    }
    if (errno != EINTR) {
      errno_ = errno;
      return {.status = IoStatus::failed};
    }
  }
}

IoResult FdStream::write_now(std::span<const std::byte> from) noexcept {
  for (;;) {
    const ssize_t sent = ::send(socket_.get(), from.data(), from.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      return {.status = IoStatus::moved, .bytes = static_cast<std::size_t>(sent)};
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return {.status = IoStatus::again, .wait_events = POLLOUT};
    }
    if (errno != EINTR) {
      errno_ = errno;
      return {.status = IoStatus::failed};
    }
  }
}

void FdStream::end_writing() noexcept {
  ::shutdown(socket_.get(), SHUT_WR);
}

void FdStream::close() noexcept {
  ::shutdown(socket_.get(), SHUT_RDWR);
}

std::string FdStream::fault() const {
  return "the connection broke: " + errno_text(errno_);
}

}  // namespace framewire
