#include "tests/data_path/system_call_counter.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace framewire::test {

SystemCallCounter::SystemCallCounter() : stop_event_(make_eventfd()), thread_([this] { answer(); }) {}

SystemCallCounter::~SystemCallCounter() {
  may_end_ = true;
  signal_eventfd(stop_event_.get());
  thread_.join();
}

std::string SystemCallCounter::count_this_thread() {
  sock_filter ask_about_all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
  const sock_fprog program{.len = 1, .filter = &ask_about_all};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return std::string("PR_SET_NO_NEW_PRIVS: ") + std::strerror(errno);
  }
  const long listener = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
  if (listener < 0) {
    return std::string("seccomp: ") + std::strerror(errno);
  }
  // No system call before the other thread has the listener: nobody would answer it.
  listener_ = static_cast<int>(listener);
  return {};
}

std::uint64_t SystemCallCounter::calls(long number) const noexcept {
  return calls_[static_cast<std::size_t>(number)];
}

void SystemCallCounter::answer() noexcept {
  while (listener_ < 0 && !may_end_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const FileDescriptor listener(listener_);
  std::array descriptors{pollfd{.fd = listener.get(), .events = POLLIN, .revents = 0},
                         pollfd{.fd = stop_event_.get(), .events = POLLIN, .revents = 0}};
  while (!may_end_) {
    ::poll(descriptors.data(), descriptors.size(), -1);
    if ((descriptors[0].revents & POLLHUP) != 0) {
      descriptors[0].fd = -1;  // the counted thread has ended
    }
    if ((descriptors[0].revents & POLLIN) == 0) {
      continue;
    }
    seccomp_notif asked{};
    if (::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) {
      continue;
    }
    ++calls_[std::min(static_cast<std::size_t>(asked.data.nr), numbers - 1)];
    seccomp_notif_resp go_on{.id = asked.id, .val = 0, .error = 0, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    ::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_SEND, &go_on);
  }
}

}  // namespace framewire::test
