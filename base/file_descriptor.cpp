#include "base/file_descriptor.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include "base/error.hpp"

namespace framewire {

namespace {

/// A bit for each descriptor that an object owns.
constexpr std::size_t bits_per_word = 64;
std::array<std::atomic<std::uint64_t>, max_noted_descriptors / bits_per_word> owned{};

constexpr bool is_noted(int fd) noexcept {
  return fd >= 0 && fd < max_noted_descriptors;
}

std::atomic<std::uint64_t>& word_of(int fd) noexcept {
  return owned[static_cast<std::size_t>(fd) / bits_per_word];
}

constexpr std::uint64_t bit_of(int fd) noexcept {
  return std::uint64_t{1} << (static_cast<std::size_t>(fd) % bits_per_word);
}

/// Held by sections, and while the process is forked. Nothing else is locked meanwhile, but what libc locks in itself.
/// The child of the thread that has locked it may unlock it.
std::mutex fork_mutex;
std::atomic<bool> is_prepared = false;
std::atomic<void (*)()> run_in_child = nullptr;
thread_local bool is_in_section = false;
thread_local bool forks_with_mutex = false;

void before_fork() {
  forks_with_mutex = !is_in_section;
  if (forks_with_mutex) {
    fork_mutex.lock();
  }
}

void after_fork() {
  if (std::exchange(forks_with_mutex, false)) {
    fork_mutex.unlock();
  }
}

void after_fork_in_child() {
  close_owned_descriptors();
  after_fork();
  run_in_child.load()();
}

}  // namespace

UnforkedSection::UnforkedSection() noexcept
    : is_locked_(is_prepared.load(std::memory_order_relaxed) && !is_in_section) {
  if (is_locked_) {
    fork_mutex.lock();
    is_in_section = true;
  }
}

UnforkedSection::~UnforkedSection() {
  if (is_locked_) {
    is_in_section = false;
    fork_mutex.unlock();
  }
}

bool prepare_for_fork(void (*in_child)()) noexcept {
  run_in_child = in_child;
  is_prepared = ::pthread_atfork(before_fork, after_fork, after_fork_in_child) == 0;
  return is_prepared;
}

void FileDescriptor::note_owned(int fd) noexcept {
  if (is_noted(fd)) {
    word_of(fd).fetch_or(bit_of(fd), std::memory_order_relaxed);
  }
}

void FileDescriptor::note_released(int fd) noexcept {
  if (is_noted(fd)) {
    word_of(fd).fetch_and(~bit_of(fd), std::memory_order_relaxed);
  }
}

void FileDescriptor::reset(int fd) noexcept {
  if (fd_ >= 0) {
    const UnforkedSection section;
    note_released(fd_);  // before another thread can get its number
    ::close(fd_);
  }
  fd_ = fd;
  note_owned(fd_);
}

void close_owned_descriptors() noexcept {
  for (std::size_t word = 0; word < owned.size(); ++word) {
    for (std::uint64_t left = owned[word].exchange(0); left != 0; left &= left - 1) {
      ::close(static_cast<int>(word * bits_per_word) + std::countr_zero(left));
    }
  }
}

FileDescriptor duplicate(int fd) noexcept {
  return FileDescriptor::from([&] { return ::fcntl(fd, F_DUPFD_CLOEXEC, 0); });
}

FileDescriptor make_eventfd() {
  auto event = FileDescriptor::from([] { return ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); });
  if (!event.valid()) {
    throw Error::from_errno("create an eventfd", errno);
  }
  return event;
}

void signal_eventfd(int event_fd) noexcept {
  const std::uint64_t one = 1;
  // This only fails if the counter is full, and then the waiting thread is woken anyway.
  [[maybe_unused]] const auto written = ::write(event_fd, &one, sizeof one);
}

bool clear_eventfd(int event_fd) noexcept {
  std::uint64_t count = 0;
  return ::read(event_fd, &count, sizeof count) == sizeof count;
}

void set_non_blocking(int fd, bool on) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) < 0) {
    throw Error::from_errno("set the blocking mode of a descriptor", errno);
  }
}

}  // namespace framewire
