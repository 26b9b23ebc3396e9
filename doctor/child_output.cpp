#include "doctor/child_output.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

constexpr std::size_t most_bytes = 65536;

/// Returns 0, or an errno value. Standard error goes nowhere: drivers talk there.
int start(const std::string& program, int to_fd, pid_t& child) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, to_fd, STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string name = program;
  std::array<char*, 2> arguments = {name.data(), nullptr};
  const int error = ::posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

/// Until the end, the limit or the deadline.
void read_all(int fd, std::string& text, std::int64_t deadline_ns) {
  std::array<char, 4096> part{};
  while (text.size() < most_bytes && wait_for(fd, POLLIN, deadline_ns)) {
    const ssize_t got = ::read(fd, part.data(), part.size());
    if (got <= 0 && !(got < 0 && errno == EINTR)) {
      return;
    }
    text.append(part.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  }
}

/// Whether it has ended by the deadline. Kernels before 5.3, and sandboxes that know no newer calls, have no descriptor
/// of a process: there it is looked at every 10 ms.
bool has_ended(pid_t child, std::int64_t deadline_ns) {
  const FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (process.valid()) {
    return wait_for(process.get(), POLLIN, deadline_ns);
  }
  for (;;) {
    siginfo_t ended{};
    if (::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == child) {
      return true;
    }
    const std::int64_t now_ns = monotonic_ns();
    if (now_ns >= deadline_ns) {
      return false;
    }
    wait_until({}, std::min(deadline_ns, now_ns + 10 * ns_per_ms));
  }
}

/// Ends it at the deadline. Its status as waitpid() has it.
int wait_end(pid_t child, std::int64_t deadline_ns) {
  if (!has_ended(child, deadline_ns)) {
    ::kill(child, SIGKILL);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

ChildOutput child_output(const std::string& program, std::int64_t timeout_ns) {
  ChildOutput output;
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    output.trouble = "no pipe: " + errno_text(errno);
    return output;
  }
  const FileDescriptor reads(ends[0]);
  FileDescriptor writes(ends[1]);
  pid_t child = -1;
  const int error = start(program, writes.get(), child);
  writes.reset();
  if (error != 0) {
    output.trouble = "it does not start: " + errno_text(error);
    return output;
  }
  const std::int64_t deadline_ns = monotonic_ns() + timeout_ns;
  read_all(reads.get(), output.text, deadline_ns);
  const bool says_too_much = output.text.size() >= most_bytes;
  const int status = wait_end(child, says_too_much ? 0 : deadline_ns);
  if (says_too_much) {
    output.trouble = "it says more than 64 KiB";
  } else if (WIFSIGNALED(status)) {
    const bool is_late = WTERMSIG(status) == SIGKILL && monotonic_ns() >= deadline_ns;
    output.trouble = is_late ? "it did not end within " + std::to_string(timeout_ns / ns_per_ms) + " ms"
                             : "it was ended by signal " + std::to_string(WTERMSIG(status));
  } else if (WEXITSTATUS(status) != 0) {
    output.trouble = "it ended with exit status " + std::to_string(WEXITSTATUS(status));
  }
  output.has_ended_well = output.trouble.empty();
  return output;
}

}  // namespace framewire
