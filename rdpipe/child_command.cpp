#include "rdpipe/child_command.hpp"

#include <pwd.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "base/wait.hpp"

namespace framewire {

namespace {

constexpr char input_ended_order = 'e';
constexpr char all_is_well_order = 'q';

std::string user_shell() {
  const passwd* user = ::getpwuid(::getuid());
  return user != nullptr && user->pw_shell != nullptr && *user->pw_shell != '\0' ? user->pw_shell : "/bin/sh";
}

/// Runs in the guard process. Its standard output is the writing end of the command's input.
int guard(pid_t group) {
  set_thread_name("rdpipe-guard");
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    std::signal(number, SIG_IGN);  // Ctrl-C reaches the guard, too, but only the agent handles it
  }
  char order = 0;
  while (::read(STDIN_FILENO, &order, 1) == 1) {
    if (order == all_is_well_order) {
      return 0;
    }
    ::close(STDOUT_FILENO);
  }
  ::kill(-group, SIGKILL);
  return 0;
}

}  // namespace

ChildCommand::ChildCommand(const std::string& text, int input, int output, int held_open) {
  // The guard starts before the command, so that there is no moment without a guard.
  const auto set_guard = [&](pid_t group) {
    PipeEnds pipe = make_pipe();
    guard_ = ChildProcess::fork_of(
        {.input = pipe.reads.get(), .output = held_open}, [group] { return guard(group); }, false);
    lifeline_ = std::move(pipe.writes);
  };
  shell_ = ChildProcess::start({user_shell(), "-c", text}, {.input = input, .output = output}, true, set_guard);
}

ChildCommand::~ChildCommand() {
  release_guard();
  guard_.wait();
}

bool ChildCommand::has_ended(ChildExit& ending) noexcept {
  const bool has_just_ended = shell_.has_ended(ending);
  if (has_just_ended && shell_.is_all_gone()) {
    release_guard();  // the group id may be reused soon
  }
  return has_just_ended;
}

void ChildCommand::release_guard() noexcept {
  const ssize_t ignored = ::write(lifeline_.get(), &all_is_well_order, 1);
  static_cast<void>(ignored);
}

void ChildCommand::input_has_ended() noexcept {
  const ssize_t ignored = ::write(lifeline_.get(), &input_ended_order, 1);
  static_cast<void>(ignored);
}

}  // namespace framewire
