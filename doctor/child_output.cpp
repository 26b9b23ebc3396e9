// Runs another program with a deadline and collects its output.
#include "doctor/child_output.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
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

constexpr std::size_t max_bytes = 65536;

struct Pipe {
  FileDescriptor reads;
  FileDescriptor writes;

  bool make() {
    std::array<int, 2> ends = {-1, -1};
    const bool is_made = ::pipe2(ends.data(), O_CLOEXEC) == 0;
    reads.reset(ends[0]);
    writes.reset(ends[1]);
    return is_made;
  }
};

struct Pipes {
  Pipe output;
  Pipe complaint;
  Pipe fault;  // receives the errno of a failed exec(), and closes on success
};

/// Runs in the forked process. Uses only async-signal-safe functions, as libraries here may have threads.
[[noreturn]] void be_child(const char* program, char* const* arguments, const Pipes& pipes, pid_t parent) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    ::_exit(1);  // the parent ended before prctl()
  }
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0 && ::dup2(nothing, STDIN_FILENO) >= 0 && ::dup2(pipes.output.writes.get(), STDOUT_FILENO) >= 0 &&
      ::dup2(pipes.complaint.writes.get(), STDERR_FILENO) >= 0) {
    ::execv(program, arguments);
  }
  const int error = errno;
  const ssize_t ignored = ::write(pipes.fault.writes.get(), &error, sizeof error);
  ::_exit(ignored == sizeof error ? 127 : 126);
}

/// Returns 0, or an errno value.
int start(const std::string& program, std::vector<std::string> words, Pipes& pipes, pid_t& child) {
  if (!pipes.output.make() || !pipes.complaint.make() || !pipes.fault.make()) {
    return errno;
  }
  words.insert(words.begin(), program);
  std::vector<char*> arguments;
  std::ranges::transform(words, std::back_inserter(arguments), [](std::string& word) { return word.data(); });
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  child = ::fork();
  if (child == 0) {
    be_child(program.c_str(), arguments.data(), pipes, parent);
  }
  const int fork_error = child < 0 ? errno : 0;
  for (Pipe* pipe : {&pipes.output, &pipes.complaint, &pipes.fault}) {
    pipe->writes.reset();
  }
  int error = 0;
  if (child > 0 && ::read(pipes.fault.reads.get(), &error, sizeof error) == sizeof error) {
    ::waitpid(child, nullptr, 0);
    return error;
  }
  return fork_error;
}

/// Appends what is available. Returns false at the end, or when there is too much.
bool read_some(int fd, std::string& text) {
  std::array<char, 4096> part{};
  const ssize_t got = ::read(fd, part.data(), part.size());
  if (got <= 0) {
    return got < 0 && errno == EINTR;
  }
  text.append(part.data(), static_cast<std::size_t>(got));
  return text.size() < max_bytes;
}

/// Reads until both pipes have ended, one exceeds its limit, or the deadline.
void read_all(const Pipes& pipes, ChildOutput& output, std::int64_t deadline_ns) {
  std::array both{pollfd{.fd = pipes.output.reads.get(), .events = POLLIN, .revents = 0},
                  pollfd{.fd = pipes.complaint.reads.get(), .events = POLLIN, .revents = 0}};
  const std::array texts{&output.text, &output.complaint};
  while ((both[0].fd >= 0 || both[1].fd >= 0) && wait_until(both, deadline_ns) > 0) {
    for (std::size_t i = 0; i < both.size(); ++i) {
      if (both[i].revents != 0 && !read_some(both[i].fd, *texts[i])) {
        both[i].fd = -1;
        if (texts[i]->size() >= max_bytes) {
          return;
        }
      }
    }
  }
}

/// Whether the child ends before the deadline. Kernels before 5.3, and sandboxes that do not know pidfd_open(), provide
/// no process descriptor: then it is polled every 10 ms.
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

/// Waits for the child and kills it at the deadline. Returns its status as waitpid() does.
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

ChildOutput child_output(const std::string& program, const std::vector<std::string>& arguments,
                         std::int64_t timeout_ns) {
  ChildOutput output;
  Pipes pipes;
  pid_t child = -1;
  if (const int error = start(program, arguments, pipes, child); error != 0) {
    output.trouble = "it does not start: " + errno_text(error);
    return output;
  }
  const std::int64_t deadline_ns = monotonic_ns() + timeout_ns;
  read_all(pipes, output, deadline_ns);
  const bool says_too_much = std::max(output.text.size(), output.complaint.size()) >= max_bytes;
  const int status = wait_end(child, says_too_much ? 0 : deadline_ns);
  output.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (says_too_much) {
    output.trouble = "it says more than 64 KiB";
  } else if (WIFSIGNALED(status)) {
    output.is_late = WTERMSIG(status) == SIGKILL && monotonic_ns() >= deadline_ns;
    output.trouble = output.is_late ? "it did not end within " + std::to_string(timeout_ns / ns_per_ms) + " ms"
                                    : "it was ended by signal " + std::to_string(WTERMSIG(status));
  } else if (output.exit_status != 0) {
    output.trouble = "it ended with exit status " + std::to_string(output.exit_status);
  }
  output.has_ended_well = output.trouble.empty();
  return output;
}

}  // namespace framewire
