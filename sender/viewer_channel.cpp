#include "sender/viewer_channel.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/failure_text.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

/// From the request to end to the end by force. ssh has gone, and nobody would notice a program that hangs.
constexpr std::int64_t longest_shutdown_ns = 3 * ns_per_s;

std::string ssh_connection() {
  const char* value = std::getenv("SSH_CONNECTION");
  return value != nullptr ? value : "";
}

/// The descriptor that is standard input or output now; /dev/null takes its place. Otherwise a source could read the
/// viewer's messages, or a library print between ours.
FileDescriptor take_standard(int fd) {
  FileDescriptor taken(::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  const FileDescriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!taken.valid() || !nothing.valid() || ::dup2(nothing.get(), fd) < 0) {
    throw Error::from_errno("take the standard input and output that ssh gives", errno);
  }
  return taken;
}

}  // namespace

ViewerChannel::ViewerChannel(Interruption& interruption)
    : interruption_(interruption),
      viewer_(JsonLines(take_standard(STDIN_FILENO), take_standard(STDOUT_FILENO)), ssh_connection(), monotonic_ns()) {}

ViewerChannel::~ViewerChannel() {
  signal_eventfd(stop_.get());
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::optional<SenderPlan> ViewerChannel::take_plan() {
  std::optional<SenderPlan> plan;
  while (!plan) {
    if (interruption_.is_requested() || !follow()) {
      return std::nullopt;
    }
    plan = viewer_.take_plan();
  }
  thread_ = std::thread([this] { run(); });
  return plan;
}

void ViewerChannel::announce(std::uint16_t port) {
  const std::scoped_lock lock(mutex_);
  viewer_.announce(port);
}

void ViewerChannel::throw_if_lost() {
  const std::scoped_lock lock(mutex_);
  if (lost_) {
    throw Error(*lost_);
  }
}

/// Waits for news, at most until there is something to say. Returns false when the viewer has left. Throws Error when
/// it is lost.
bool ViewerChannel::follow() {
  std::array descriptors{
      pollfd{.fd = viewer_.in(), .events = POLLIN, .revents = 0},
      pollfd{.fd = stop_.get(), .events = POLLIN, .revents = 0},
      pollfd{.fd = interruption_.is_requested() ? -1 : interruption_.descriptor(), .events = POLLIN, .revents = 0}};
  wait_until(descriptors, viewer_.next_ns());
  const std::scoped_lock lock(mutex_);
  return viewer_.follow(monotonic_ns());
}

// ---- The thread "fw-viewer" ----

void ViewerChannel::run() noexcept {
  set_thread_name("fw-viewer");
  try {
    while (!wait_for(stop_.get(), POLLIN, 0)) {
      if (!follow()) {
        end_program();
        return;
      }
    }
  } catch (const std::exception& error) {
    {
      const std::scoped_lock lock(mutex_);
      lost_.emplace(exit_status_of(error), failure_text(error));
    }
    end_program();
  }
}

void ViewerChannel::end_program() {
  interruption_.request();
  if (!wait_for(stop_.get(), POLLIN, monotonic_ns() + longest_shutdown_ns)) {
    ::_exit(static_cast<int>(ExitStatus::failed));
  }
}

}  // namespace framewire
