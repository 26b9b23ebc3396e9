// A process that this one has forked, for the other side of a row.
#pragma once

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>

namespace framewire {

/// Ends it and waits until it is gone: by then it has reported, or never will.
class Child {
 public:
  explicit Child(pid_t id) noexcept : id_(id) {}
  ~Child() {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t id() const noexcept { return id_; }

 private:
  const pid_t id_;
};

}  // namespace framewire
