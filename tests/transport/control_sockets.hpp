// Helpers for the tests of listening and dialling: connected sockets, and a separate network namespace.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <utility>

#include "base/wait.hpp"
#include "tests/transport/control_support.hpp"
#include "transport/control/listener.hpp"

namespace framewire::test {

inline constexpr int no_network = 77;

inline std::optional<AcceptedSocket> accept_soon(Listener& listener) {
  auto descriptors = listener.descriptors();
  wait_until(descriptors, soon_ns());
  return listener.accept();
}

inline bool has_no_delay(int fd) {
  int value = 0;
  socklen_t size_bytes = sizeof value;
  return ::getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &size_bytes) == 0 && value != 0;
}

/// Runs in a separate process with a separate network namespace that nothing else can reach. Returns the exit status,
/// or no_network if the system does not allow the namespace.
template <typename Action>
int in_own_network(Action&& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
      ::_exit(no_network);
    }
    try {
      ::_exit(std::forward<Action>(action)());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "in a network of its own: %s\n", error.what());
      ::_exit(EXIT_FAILURE);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace framewire::test
