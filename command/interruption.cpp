#include "command/interruption.hpp"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"

namespace framewire {

sigset_t signals_not_ignored(std::initializer_list<int> numbers) noexcept {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0 || action.sa_handler != SIG_IGN) {
      sigaddset(&set, number);
    }
  }
  return set;
}

namespace {

sigset_t polite_signals() noexcept {
  return signals_not_ignored({SIGINT, SIGTERM, SIGHUP});
}

/// timeout(1) signals the program and then its process group: a second signal within this time counts as the same
/// request.
constexpr std::int64_t second_signal_ns = ns_per_s / 2;

}  // namespace

Interruption::Interruption() : stop_(make_eventfd()), requested_(make_eventfd()) {
  const sigset_t set = polite_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_.reset(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!signals_.valid()) {
    throw Error::from_errno("take signals", errno);
  }
  thread_ = std::thread([this] { run(); });
}

Interruption::~Interruption() {
  signal_eventfd(stop_.get());
  thread_.join();
}

bool Interruption::has_come() const {
  const std::scoped_lock lock(taking_);
  std::array waiting = {pollfd{signals_.get(), POLLIN, 0}};
  return is_requested() || wait_until(waiting, 0) > 0;
}

void Interruption::request() {
  if (!is_requested_.exchange(true, std::memory_order_acq_rel)) {
    signal_eventfd(requested_.get());
  }
  const std::scoped_lock lock(mutex_);
  if (wake_) {
    wake_();
  }
}

void Interruption::set_wake(std::function<void()> wake) {
  const std::scoped_lock lock(mutex_);
  wake_ = std::move(wake);
  if (wake_ && is_requested()) {
    wake_();  // the request came before set_wake()
  }
}

void Interruption::run() {
  set_thread_name("fw-signals");
  while (true) {
    std::array<pollfd, 2> both = {pollfd{signals_.get(), POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
    wait_until(both, INT64_MAX);
    if (both[1].revents != 0) {
      return;
    }
    signalfd_siginfo info;
    bool is_first = false;
    {
      const std::scoped_lock lock(taking_);
      if (::read(signals_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) {
        continue;
      }
      is_first = !is_requested_.exchange(true, std::memory_order_acq_rel);
    }
    receive(static_cast<int>(info.ssi_signo), is_first);
  }
}

void Interruption::receive(int signal_number, bool is_first) {
  const std::int64_t now_ns = monotonic_ns();
  if (is_first) {
    requested_ns_ = now_ns;
    signal_eventfd(requested_.get());
  } else if (now_ns - requested_ns_ >= second_signal_ns) {
    const sigset_t set = polite_signals();
    std::signal(signal_number, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    std::raise(signal_number);
  }
  const std::scoped_lock lock(mutex_);
  if (wake_) {
    wake_();
  }
}

}  // namespace framewire
