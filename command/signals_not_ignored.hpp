// Selects the signals that a program may handle.
#pragma once

#include <csignal>
#include <initializer_list>

namespace framewire {

/// Those of `numbers` that are not ignored. nohup ignores SIGHUP, and a shell ignores Ctrl-C for the background jobs of
/// a script. A signalfd would deliver ignored signals all the same.
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
