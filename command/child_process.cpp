#include "command/child_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "command/interruption.hpp"

namespace framewire {

namespace {

/// Temporary descriptor numbers, above all final ones.
constexpr int waiting_fd = 10;

sigset_t ending_signals() noexcept {
  return signals_not_ignored({SIGINT, SIGTERM, SIGHUP});
}

/// Includes SIGCHLD even if it is ignored.
sigset_t signal_set() noexcept {
  sigset_t set = ending_signals();
  sigaddset(&set, SIGCHLD);
  return set;
}

/// Moves every descriptor to its number and closes all others. Uses only async-signal-safe functions, since it runs
/// after fork().
bool arrange(const ChildDescriptors& descriptors) noexcept {
  const std::array<std::pair<int, int>, 5> moves{{{descriptors.input, STDIN_FILENO},
                                                  {descriptors.output, STDOUT_FILENO},
                                                  {descriptors.error, STDERR_FILENO},
                                                  {descriptors.control_pipe, control_fd},
                                                  {descriptors.status_pipe, status_fd}}};
  std::array<int, 5> held{-1, -1, -1, -1, -1};
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const bool is_nothing = i < 2 && moves[i].first < 0;
    const int from = is_nothing ? ::open("/dev/null", (i == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC) : moves[i].first;
    held[i] = from < 0 ? -1 : ::fcntl(from, F_DUPFD_CLOEXEC, waiting_fd);
    if (from >= 0 && held[i] < 0) {
      return false;
    }
  }
  for (std::size_t i = 0; i < moves.size(); ++i) {
    if (held[i] >= 0 && ::dup2(held[i], moves[i].second) < 0) {
      return false;
    }
    if (held[i] < 0 && moves[i].second > STDERR_FILENO) {
      ::close(moves[i].second);
    }
  }
  return ::close_range(status_fd + 1, ~0U, 0) == 0;
}

void restore_signals() noexcept {
  const sigset_t set = signal_set();
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGXFSZ, SIG_DFL);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

/// Makes this process end with its parent; also detects that the parent ended before prctl().
void go_with(pid_t parent) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    ::_exit(1);
  }
}

pid_t fork_or_throw() {
  const pid_t pid = ::fork();
  if (pid < 0) {
    throw Error::from_errno("start a process", errno);
  }
  return pid;
}

FileDescriptor descriptor_of(const sigset_t& signals) {
  FileDescriptor descriptor(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!descriptor.valid()) {
    throw Error::from_errno("take signals", errno);
  }
  return descriptor;
}

/// Throws if exec() failed: its errno comes through the pipe. A successful exec() closes the pipe.
void throw_if_not_run(const PipeEnds& fault, const std::string& program) {
  int error_number = 0;
  if (::read(fault.reads.get(), &error_number, sizeof error_number) == sizeof error_number) {
    throw Error::from_errno("run " + program, error_number);
  }
}

}  // namespace

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(group_, other.group_);
  return *this;
}

ChildProcess::~ChildProcess() {
  if (is_running()) {
    signal(SIGKILL);
    wait();
  }
}

ChildProcess ChildProcess::fork_of(const ChildDescriptors& descriptors, const std::function<int()>& work,
                                   bool goes_with_parent) {
  const pid_t parent = ::getpid();
  ChildProcess child;
  child.pid_ = fork_or_throw();
  if (child.pid_ == 0) {
    if (goes_with_parent) {
      go_with(parent);
    }
    const sigset_t set = signal_set();
    const bool is_ready = arrange(descriptors);
    ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
    try {
      ::_exit(is_ready ? work() : 126);
    } catch (...) {
      ::_exit(126);  // it must not continue as a second parent
    }
  }
  return child;
}

ChildProcess ChildProcess::start(const std::vector<std::string>& words, const ChildDescriptors& descriptors,
                                 bool leader, const std::function<void(pid_t)>& prepare, const std::string& folder) {
  std::vector<char*> arguments;
  std::ranges::transform(words, std::back_inserter(arguments),
                         [](const std::string& word) { return const_cast<char*>(word.c_str()); });
  arguments.push_back(nullptr);
  PipeEnds go = make_pipe();
  PipeEnds fault = make_pipe();
  ChildDescriptors all = descriptors;
  all.status_pipe = fault.writes.get();
  const pid_t parent = ::getpid();
  ChildProcess child;
  child.pid_ = fork_or_throw();
  if (child.pid_ == 0) {
    go_with(parent);
    if (leader) {
      ::setpgid(0, 0);
    }
    int fault_fd = fault.writes.get();
    const bool is_in_folder = folder.empty() || ::chdir(folder.c_str()) == 0;
    if (char word = 0; is_in_folder && ::read(go.reads.get(), &word, 1) == 1 && arrange(all)) {
      fault_fd = status_fd;
      ::fcntl(status_fd, F_SETFD, FD_CLOEXEC);
      restore_signals();
      ::execvp(arguments[0], arguments.data());
    }
    const int error_number = errno;
    const ssize_t ignored = ::write(fault_fd, &error_number, sizeof error_number);
    ::_exit(ignored == sizeof error_number ? 127 : 126);
  }
  if (leader) {
    ::setpgid(child.pid_, child.pid_);  // both parent and child call it, since either may run first
    child.group_ = child.pid_;
  }
  fault.writes.reset();
  if (prepare) {
    prepare(child.pid_);
  }
  if (::write(go.writes.get(), "g", 1) != 1) {
    throw Error::from_errno("start " + words.front(), errno);
  }
  throw_if_not_run(fault, words.front());
  return child;
}

void ChildProcess::signal(int number) const noexcept {
  if (group_ > 0) {
    ::kill(-group_, number);
  } else if (is_running()) {
    ::kill(pid_, number);
  }
}

bool ChildProcess::is_all_gone() const noexcept {
  return !is_running() && (group_ <= 0 || ::kill(-group_, 0) != 0);
}

bool ChildProcess::has_ended(ChildExit& ending) noexcept {
  int status = 0;
  if (!is_running()) {
    return false;
  }
  const pid_t found = ::waitpid(pid_, &status, WNOHANG);
  if (found != pid_ && !(found < 0 && errno == ECHILD)) {
    return false;
  }
  pid_ = -1;
  if (group_ > 0 && ::kill(-group_, 0) != 0) {
    group_ = -1;  // the group is empty: its id may be reused soon
  }
  ending = {.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
            .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
  return true;
}

int ChildProcess::stopped_by() const noexcept {
  siginfo_t info{};
  const bool has_stopped =
      is_running() && ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG) == 0 && info.si_pid == pid_;
  return has_stopped ? info.si_status : 0;
}

ChildExit ChildProcess::wait() noexcept {
  ChildExit ending;
  siginfo_t info{};
  while (is_running() && !has_ended(ending)) {
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }
  return ending;
}

FileDescriptor take_signals() {
  std::signal(SIGCHLD, SIG_DFL);  // if it is ignored, waitpid() cannot get a status
  const sigset_t set = signal_set();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return descriptor_of(set);
}

FileDescriptor watch_for_an_end() {
  return descriptor_of(ending_signals());
}

int next_signal(int signals_fd) noexcept {
  signalfd_siginfo info;
  return ::read(signals_fd, &info, sizeof info) == static_cast<ssize_t>(sizeof info) ? static_cast<int>(info.ssi_signo)
                                                                                     : 0;
}

std::string signal_text(int number) {
  const char* name = ::sigdescr_np(number);
  return "signal " + std::to_string(number) + (name != nullptr ? std::string(" (") + name + ")" : "");
}

}  // namespace framewire
