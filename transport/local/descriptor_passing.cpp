#include "transport/local/descriptor_passing.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

constexpr std::size_t max_descriptors = 8;

using ControlBuffer = std::array<char, CMSG_SPACE(max_descriptors * sizeof(int))>;

/// Takes all descriptors: an unexpected one is closed with `taken`, and not leaked.
void take_descriptors(msghdr& message, std::vector<FileDescriptor>& taken) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      taken.emplace_back(fd);
    }
  }
}

}  // namespace

void send_with_descriptors(int socket, std::span<const std::byte> record, std::span<const int> descriptors) {
  iovec data{.iov_base = const_cast<std::byte*>(record.data()), .iov_len = record.size()};
  alignas(cmsghdr) ControlBuffer control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent != static_cast<ssize_t>(record.size())) {
    throw Error::lost_peer("the other end went away while shared memory was handed to it");
  }
}

std::vector<FileDescriptor> receive_with_descriptors(int socket, std::span<std::byte> record,
                                                     std::size_t descriptor_count, std::int64_t deadline_ns) {
  if (!wait_for(socket, POLLIN, deadline_ns)) {
    throw Error::lost_peer("the sender did not hand over its shared memory in time");
  }
  iovec data{.iov_base = record.data(), .iov_len = record.size()};
  alignas(cmsghdr) ControlBuffer control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t received = -1;
  std::vector<FileDescriptor> descriptors;
  descriptors.reserve(max_descriptors);
  {
    const UnforkedSection section;
    do {
      received = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    } while (received < 0 && errno == EINTR);
    take_descriptors(message, descriptors);
  }
  if (received <= 0) {
    throw Error::lost_peer("the sender went away before it handed over its shared memory");
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0 && descriptors.size() < descriptor_count) {
    throw Error::failed("cannot take the shared memory that the sender handed over: " + errno_text(EMFILE) +
                        "; raise the limit (ulimit -n)");
  }
  if (received != static_cast<ssize_t>(record.size()) || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ||
      descriptors.size() != descriptor_count) {
    throw Error::failed(
        "the sender handed over something else than its shared memory; are both ends of the same version?");
  }
  return descriptors;
}

}  // namespace framewire
