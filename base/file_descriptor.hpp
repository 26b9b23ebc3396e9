// A file descriptor with one owner.
#pragma once

#include <utility>

namespace framewire {

/// While it lives, fork() waits, once prepare_for_fork() was called: a child finds each descriptor either open and
/// noted, or neither. For what opens a descriptor and makes its FileDescriptor. The calls between must not wait, nor
/// take a lock of another library. Sections of one thread may lie in each other.
class UnforkedSection {
 public:
  UnforkedSection() noexcept;
  ~UnforkedSection();
  UnforkedSection(const UnforkedSection&) = delete;
  UnforkedSection& operator=(const UnforkedSection&) = delete;

 private:
  const bool is_locked_;
};

class FileDescriptor {
 public:
  /// Owns what `open` returns, which may be -1; errno stays as `open` left it. No process is forked meanwhile: see
  /// UnforkedSection. One that comes from elsewhere may stay open in a child that is forked at that moment.
  template <typename Open>
  static FileDescriptor from(Open&& open) {
    const UnforkedSection section;
    return FileDescriptor(std::forward<Open>(open)());
  }
  FileDescriptor() noexcept = default;
  explicit FileDescriptor(int fd) noexcept : fd_(fd) { note_owned(fd_); }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      reset(std::exchange(other.fd_, -1));
    }
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int release() noexcept {
    note_released(fd_);
    return std::exchange(fd_, -1);
  }
  void reset(int fd = -1) noexcept;

 private:
  static void note_owned(int fd) noexcept;
  static void note_released(int fd) noexcept;

  int fd_ = -1;
};

/// Closes every descriptor that a FileDescriptor owns: for a process that was forked, and that uses none of its
/// parent's objects. Those must not be destroyed afterwards. Async-signal-safe. Descriptors from max_noted_descriptors
/// on stay open.
void close_owned_descriptors() noexcept;
/// From now on fork() waits for UnforkedSections, and its children call close_owned_descriptors() and then `in_child`.
/// Once a process. False: there is no memory. A signal handler that forks inside of a section of its own thread does
/// not wait for it.
[[nodiscard]] bool prepare_for_fork(void (*in_child)()) noexcept;
inline constexpr int max_noted_descriptors = 1 << 20;

/// Another descriptor of the same file, close-on-exec; -1 with errno when there are none left.
FileDescriptor duplicate(int fd) noexcept;

/// An eventfd (non-blocking, close-on-exec): a counter that one side raises and another waits for.
/// Throws Error when the process has no descriptors left.
FileDescriptor make_eventfd();

/// Adds one to an eventfd, which wakes the threads that poll it. Any thread; never blocks.
void signal_eventfd(int event_fd) noexcept;

/// Sets an eventfd back to zero. Returns whether it had been raised.
bool clear_eventfd(int event_fd) noexcept;

/// Sets O_NONBLOCK on or off. Throws Error.
void set_non_blocking(int fd, bool on);

}  // namespace framewire
