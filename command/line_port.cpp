#include "command/line_port.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>

#include "base/error.hpp"
#include "base/pipe.hpp"
#include "base/text.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

constexpr std::size_t max_unwritten_bytes = std::size_t{64} * 1024;
constexpr int writes_in_a_turn = 16;

bool is_socket(int fd) noexcept {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
}

int parse_descriptor(std::string_view text, std::string_view what, int wrong_mode) {
  int fd = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fd);
  if (error != std::errc{} || end != text.data() + text.size() || fd < 0) {
    throw Error::usage(std::string(what) + " is " + quote(text) + "; it takes the number of an open descriptor");
  }
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == wrong_mode) {
    throw Error::usage(std::string(what) + " names descriptor " + std::to_string(fd) + ", which is not open for " +
                       (wrong_mode == O_RDONLY ? "writing" : "reading") + "; open it for this program");
  }
  return fd;
}

}  // namespace

PortDescriptors parse_port(std::string_view text, std::string_view what) {
  const std::size_t comma = text.find(',');
  const std::string_view second = comma == std::string_view::npos ? text : text.substr(comma + 1);
  return {.reads = parse_descriptor(text.substr(0, comma), what, O_WRONLY),
          .writes = parse_descriptor(second, what, O_RDONLY)};
}

PortDescriptors parse_output_port(std::string_view text, std::string_view what) {
  return {.reads = -1, .writes = parse_descriptor(text == "-" ? "1" : text, what, O_RDONLY)};
}

LinePort::LinePort(PortDescriptors descriptors, const char* thread_name, Handlers handlers)
    : descriptors_(descriptors),
      thread_name_(thread_name),
      handlers_(std::move(handlers)),
      writes_(reopen_for_writing(descriptors.writes)),
      is_socket_(is_socket(descriptors.writes)) {
  if (!writes_.valid()) {
    throw Error::from_errno("use descriptor " + std::to_string(descriptors.writes), errno);
  }
  for (const int fd : {descriptors.reads, descriptors.writes}) {
    if (fd > STDERR_FILENO) {
      ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
  }
}

void LinePort::start() {
  thread_ = std::thread([this] { run(); });
}

void LinePort::stop() noexcept {
  if (thread_.joinable()) {
    signal_eventfd(stop_event_.get());
    thread_.join();
  }
}

void LinePort::run() noexcept {
  set_thread_name(thread_name_);
  while (!is_stopping_) {
    wait();
    if (may_read_) {
      read_some();
    }
    write_lines();
  }
}

void LinePort::wait() {
  std::array descriptors{
      pollfd{.fd = stop_event_.get(), .events = POLLIN, .revents = 0},
      pollfd{.fd = wake_event_.get(), .events = POLLIN, .revents = 0},
      pollfd{.fd = descriptors_.reads, .events = POLLIN, .revents = 0},
      // Without an event it still tells of a reader that has gone.
      pollfd{.fd = writes_.get(), .events = static_cast<short>(unwritten_.empty() ? 0 : POLLOUT), .revents = 0}};
  wait_until(descriptors, INT64_MAX);
  is_stopping_ = descriptors[0].revents != 0;
  clear_eventfd(wake_event_.get());
  may_read_ = descriptors[2].revents != 0;
  if ((descriptors[3].revents & (POLLERR | POLLHUP)) != 0) {
    close();
  }
}

/// What its reader takes without waiting. Where lines come as fast as they are read, reading has its turn in between.
void LinePort::write_lines() {
  for (int writes = 0; writes < writes_in_a_turn || is_stopping_; ++writes) {
    while (writes_.valid() && unwritten_.size() < max_unwritten_bytes) {
      auto line = handlers_.next_line();
      if (!line) {
        break;
      }
      unwritten_ += *line + '\n';
    }
    if (!writes_.valid() || unwritten_.empty() || !write_some()) {
      return;
    }
  }
  wake();
}

/// Returns false when its reader takes no more now.
bool LinePort::write_some() {
  // poll() says that a pipe takes this much; a descriptor that could not be reopened may block.
  const std::size_t bytes = is_socket_ ? unwritten_.size() : std::min<std::size_t>(unwritten_.size(), PIPE_BUF);
  if (!is_socket_ && !wait_for(writes_.get(), POLLOUT, 0)) {
    return false;
  }
  const ssize_t written = is_socket_ ? ::send(writes_.get(), unwritten_.data(), bytes, MSG_DONTWAIT | MSG_NOSIGNAL)
                                     : ::write(writes_.get(), unwritten_.data(), bytes);
  if (written >= 0) {
    unwritten_.erase(0, static_cast<std::size_t>(written));
    return true;
  }
  const int error = errno;
  if (!is_passing(error)) {
    close();
  }
  return error == EINTR;
}

void LinePort::close() {
  writes_.reset();
  unwritten_.clear();
  handlers_.on_closed();
}

void LinePort::read_some() {
  std::array<char, 16'384> bytes{};
  const ssize_t count = ::read(descriptors_.reads, bytes.data(), bytes.size());
  if (count > 0) {
    unfinished_.append(bytes.data(), static_cast<std::size_t>(count));
    take_lines();
  } else if (count == 0 || !is_passing(errno)) {
    descriptors_.reads = -1;
    if (!unfinished_.empty()) {
      unfinished_ += '\n';  // the last line may lack its end
      take_lines();
    }
  }
}

void LinePort::take_lines() {
  std::size_t from = 0;
  for (std::size_t end = unfinished_.find('\n'); end != std::string::npos; end = unfinished_.find('\n', from)) {
    const std::string_view line = std::string_view(unfinished_).substr(from, end - from);
    if (!std::exchange(skips_to_end_, false)) {
      handlers_.on_line(line.size() <= max_line_bytes ? std::optional(line) : std::nullopt);
    }
    from = end + 1;
  }
  unfinished_.erase(0, from);
  if (unfinished_.size() > max_line_bytes) {
    unfinished_.clear();
    if (!std::exchange(skips_to_end_, true)) {
      handlers_.on_line(std::nullopt);
    }
  }
}

}  // namespace framewire
