#include "transport/control/more_bytes.hpp"

#include <sys/epoll.h>

#include "base/wait.hpp"

namespace framewire {

MoreBytes::MoreBytes(int fd) noexcept : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  epoll_event wanted{};
  wanted.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
  if (epoll_.valid() && ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &wanted) != 0) {
    epoll_.reset();
  }
}

MoreBytes::Came MoreBytes::wait(std::int64_t deadline_ns) noexcept {
  epoll_event event{};
  if (!epoll_.valid() || !wait_for(epoll_.get(), POLLIN, deadline_ns) ||
      ::epoll_wait(epoll_.get(), &event, 1, 0) != 1) {
    return Came::nothing;
  }
  return (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0 ? Came::end : Came::more;
}

}  // namespace framewire
