#include "sender/viewer_channel.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "ssh/address_selection.hpp"

namespace framewire {

namespace {

/// Something must be sent now and then, so that the kernel notices a viewer's host that is silent.
constexpr std::int64_t sign_of_life_ns = 3 * ns_per_s;
constexpr std::int64_t viewer_silence_ns = 10 * ns_per_s;
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
      viewer_(ssh_connection()),
      channel_(take_standard(STDIN_FILENO), take_standard(STDOUT_FILENO)) {
  // A startup file of the shell may have printed text without a line break.
  static_cast<void>(::write(channel_.out(), "\n", 1) == 1);
  nlohmann::json hello = to_json(own_host_addresses());
  hello.update({{"type", "hello"}, {"protocol", sender_protocol}, {"version", FRAMEWIRE_VERSION}});
  channel_.send(hello);
  next_sign_ns_ = monotonic_ns() + sign_of_life_ns;
}

ViewerChannel::~ViewerChannel() {
  signal_eventfd(stop_.get());
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::optional<SenderPlan> ViewerChannel::take_plan() {
  nlohmann::json message;
  while (!channel_.next(message)) {
    if (!channel_.fault().empty()) {
      throw Error::failed(
          "what the viewer said did not arrive here as it was said; does a startup file of the shell read standard "
          "input?");
    }
    if (interruption_.is_requested() || !follow()) {
      return std::nullopt;
    }
  }
  SenderPlan plan = sender_plan_from(message);
  thread_ = std::thread([this] { run(); });
  return plan;
}

void ViewerChannel::announce(std::uint16_t port) {
  const std::scoped_lock lock(mutex_);
  channel_.send({{"type", "listening"}, {"port", port}});
}

/// Waits for news, at most until the next sign of life. Returns false when the viewer has left.
bool ViewerChannel::follow() {
  std::array descriptors{
      pollfd{.fd = channel_.in(), .events = POLLIN, .revents = 0},
      pollfd{.fd = stop_.get(), .events = POLLIN, .revents = 0},
      pollfd{.fd = interruption_.is_requested() ? -1 : interruption_.descriptor(), .events = POLLIN, .revents = 0}};
  wait_until(descriptors, next_sign_ns_);
  const std::scoped_lock lock(mutex_);
  if (!channel_.receive()) {
    return false;
  }
  channel_.flush();
  if (monotonic_ns() >= next_sign_ns_) {
    next_sign_ns_ = monotonic_ns() + sign_of_life_ns;
    if (viewer_.is_silent(viewer_silence_ns)) {
      return false;
    }
    channel_.send({{"type", "alive"}});
  }
  return true;
}

// ---- The thread "fw-viewer" ----

void ViewerChannel::run() noexcept {
  set_thread_name("fw-viewer");
  while (!wait_for(stop_.get(), POLLIN, 0)) {
    if (!follow()) {
      interruption_.request();
      if (!wait_for(stop_.get(), POLLIN, monotonic_ns() + longest_shutdown_ns)) {
        ::_exit(static_cast<int>(ExitStatus::failed));
      }
      return;
    }
  }
}

}  // namespace framewire
