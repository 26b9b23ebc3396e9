// Which signals a program may take for itself.
#pragma once

#include <csignal>
#include <initializer_list>

namespace framewire {

/// Those of `numbers` that whoever started this program does not have it ignore, as nohup does, and a shell with Ctrl-C
/// for what a script runs in the background: a descriptor would bring them all the same.
inline sigset_t signals_not_ignored(std::initializer_list<int> numbers) noexcept {
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

}  // namespace framewire
