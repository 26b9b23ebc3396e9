// A Subscriber's functions on the program's thread: it takes frames, and sleeps until there are more.
#include <sys/epoll.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/wait.hpp"
#include "transport/session/subscriber_implementation.hpp"

namespace framewire {

std::optional<ReceivedFrame> Subscriber::Implementation::next() {
  auto frame = take_arrived();
  if (!frame && drive_link()) {
    frame = take_arrived();
  }
  return frame;
}

std::optional<ReceivedFrame> Subscriber::Implementation::take_arrived() {
  const std::scoped_lock lock(mutex_);
  auto frame = flows_.next();
  if (frame) {
    spin_.found(frame->received_ns());
  }
  finish_if_done();
  return frame;
}

/// Reads from the wire, if that is for the program's thread to do. True when that changed something.
bool Subscriber::Implementation::drive_link() {
  if (options_.driver == Driver::subscriber) {
    return false;
  }
  const std::shared_ptr<ReceiverLink> link = link_to_read();
  return link && link->wire_descriptor() >= 0 && (link->drive() || link->wire_descriptor() < 0);
}

std::shared_ptr<ReceiverLink> Subscriber::Implementation::link_to_read() const {
  const std::scoped_lock lock(mutex_);
  return flows_.link();
}

void Subscriber::Implementation::wait(std::int64_t deadline_ns, WaitMode mode) {
  if (spin_.poll_again(mode)) {
    AdaptiveSpin::pause(mode);
    return;
  }
  std::shared_ptr<ReceiverLink> link;
  const std::optional<int> fd = arm_link(link);
  if (!fd) {
    return;
  }
  std::array descriptors{pollfd{.fd = *fd, .events = POLLIN, .revents = 0},
                         pollfd{.fd = program_event_.get(), .events = POLLIN, .revents = 0}};
  wait_until(descriptors, deadline_ns);
  if (descriptors[1].revents != 0) {
    clear_eventfd(program_event_.get());
  }
}

bool Subscriber::Implementation::arm() {
  std::shared_ptr<ReceiverLink> link;
  const std::optional<int> fd = arm_link(link);
  if (!fd || clear_eventfd(program_event_.get())) {
    return false;
  }
  watch(link, *fd);
  return true;
}

/// What becomes readable when next() has a frame; -1 without a link. Nullopt: it may have one already. `link` keeps the
/// descriptor open.
std::optional<int> Subscriber::Implementation::arm_link(std::shared_ptr<ReceiverLink>& link) {
  if (drive_link()) {
    return std::nullopt;
  }
  link = link_to_read();
  if (!link) {
    return -1;
  }
  if (!link->arm()) {
    return std::nullopt;
  }
  const int wire = options_.driver == Driver::program ? link->wire_descriptor() : -1;
  return wire >= 0 ? wire : link->descriptor();
}

/// Has the poller watch this descriptor of the link, and no other link's. A closed descriptor has left the poller by
/// itself, and its number may be another one's now.
void Subscriber::Implementation::watch(const std::shared_ptr<ReceiverLink>& link, int fd) noexcept {
  if (watched_descriptor_ == fd && watched_link_.lock() == link) {
    return;
  }
  if (watched_descriptor_ >= 0) {
    ::epoll_ctl(poller_.get(), EPOLL_CTL_DEL, watched_descriptor_, nullptr);
  }
  if (fd >= 0) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLRDHUP;
    ::epoll_ctl(poller_.get(), EPOLL_CTL_ADD, fd, &event);
  }
  watched_descriptor_ = fd;
  watched_link_ = link;
}

SubscriberCounts Subscriber::Implementation::counts() const {
  const std::scoped_lock lock(mutex_);
  return {.frames_received = flows_.frames_received(),
          .bytes_received = flows_.bytes_received(),
          .frames_lost = frames_lost_.load() + flows_.frames_lost(),
          .frames_skipped = flows_.frames_skipped(),
          .frames_discarded = flows_.frames_discarded(),
          .sessions = sessions_.load(),
          .messages_dropped = outbox_.messages_dropped()};
}

}  // namespace framewire
