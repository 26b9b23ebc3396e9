#include "tests/data_path/heap_watch.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>

// Second names of glibc's functions. The reserved identifiers are glibc's.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
void* __libc_malloc(std::size_t size_bytes);
void* __libc_calloc(std::size_t count, std::size_t size_bytes);
void* __libc_realloc(void* old, std::size_t size_bytes);
void* __libc_memalign(std::size_t alignment_bytes, std::size_t size_bytes);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace framewire::test {

namespace {

/// The allocations of all threads with one name, and the call stack of the first.
struct AllocatingThread {
  std::array<char, 16> thread{};  // the kernel's limit for thread names
  std::uint64_t allocations = 0;
  std::size_t first_bytes = 0;
  std::array<void*, 24> callers{};
  int caller_count = 0;
};

// Globals: the replaced functions get no context.
std::atomic<bool> is_watching = false;
std::mutex mutex;  // guards the variables below
std::uint64_t allocations = 0;
std::array<AllocatingThread, 32> allocating_threads;  // the last entry counts all further threads
std::size_t thread_count = 0;
thread_local bool is_noting = false;  // backtrace() may allocate, too

AllocatingThread& entry_of(const std::array<char, 16>& thread) noexcept {
  const auto end = allocating_threads.begin() + static_cast<std::ptrdiff_t>(thread_count);
  const auto found = std::find_if(allocating_threads.begin(), end,
                                  [&](const AllocatingThread& allocating) { return allocating.thread == thread; });
  if (found != end) {
    return *found;
  }
  if (thread_count == allocating_threads.size()) {
    return allocating_threads.back();
  }
  AllocatingThread& allocating = allocating_threads[thread_count++];
  allocating = {.thread = thread};
  return allocating;
}

void note(std::size_t size_bytes) noexcept {
  if (!is_watching.load(std::memory_order_relaxed) || is_noting) {
    return;
  }
  is_noting = true;
  std::array<char, 16> thread{};
  ::prctl(PR_GET_NAME, thread.data());
  {
    const std::scoped_lock lock(mutex);
    ++allocations;
    AllocatingThread& allocating = entry_of(thread);
    if (allocating.allocations++ == 0) {
      allocating.first_bytes = size_bytes;
      allocating.caller_count = ::backtrace(allocating.callers.data(), static_cast<int>(allocating.callers.size()));
    }
  }
  is_noting = false;
}

/// "function +0x12", or the file where the function has no name: addr2line -e FILE OFFSET names its line.
std::string describe(void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    return "?";
  }
  const auto offset_from = [address](const void* base) {
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), "+0x%zx",
                  static_cast<std::size_t>(static_cast<const char*>(address) - static_cast<const char*>(base)));
    return std::string(text.data());
  };
  std::string text = std::string(info.dli_fname) + " " + offset_from(info.dli_fbase);
  if (info.dli_sname != nullptr) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> readable(
        abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status), &std::free);
    text = std::string(readable ? readable.get() : info.dli_sname) + "  (" + text + ")";
  }
  return text;
}

std::string describe(const AllocatingThread& allocating) {
  std::string text = "thread " + std::string(allocating.thread.data()) + " allocated " +
                     std::to_string(allocating.allocations) + " times, at first " +
                     std::to_string(allocating.first_bytes) + " bytes in\n";
  for (int i = 0; i < allocating.caller_count; ++i) {
    text += "    " + describe(allocating.callers[static_cast<std::size_t>(i)]) + "\n";
  }
  return text;
}

std::atomic<const char*> thread_without_memory = nullptr;
std::atomic<std::uint64_t> failed = 0;

bool has_memory() noexcept {
  const char* const thread = thread_without_memory.load();
  if (thread == nullptr) {
    return true;
  }
  std::array<char, 16> name{};
  ::prctl(PR_GET_NAME, name.data());
  return std::strcmp(name.data(), thread) != 0;
}

}  // namespace

/// Counts an allocation. Returns false, with errno, if it is to fail.
bool may_allocate(std::size_t size_bytes) noexcept {
  note(size_bytes);
  if (has_memory()) {
    return true;
  }
  ++failed;
  errno = ENOMEM;
  return false;
}

std::uint64_t failed_allocations() noexcept {
  return failed;
}

void let_allocations_fail_in(const char* thread) noexcept {
  thread_without_memory = thread;
}

void begin_heap_watch() noexcept {
  // The first backtrace() of a process loads a library.
  std::array<void*, 4> callers{};
  ::backtrace(callers.data(), static_cast<int>(callers.size()));
  const std::scoped_lock lock(mutex);
  allocations = 0;
  thread_count = 0;
  is_watching = true;
}

HeapUse end_heap_watch() {
  is_watching = false;
  const std::scoped_lock lock(mutex);
  HeapUse use{.allocations = allocations, .by_thread = {}, .description = {}};
  for (const AllocatingThread& allocating : std::span(allocating_threads).first(thread_count)) {
    use.by_thread[allocating.thread.data()] = allocating.allocations;
    use.description += describe(allocating);
  }
  return use;
}

}  // namespace framewire::test

// ---- The program and all its libraries call these functions instead of glibc's ----

using framewire::test::may_allocate;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's parameter names are reserved
extern "C" {

void* malloc(std::size_t size_bytes) noexcept {
  return may_allocate(size_bytes) ? __libc_malloc(size_bytes) : nullptr;
}

void* calloc(std::size_t count, std::size_t size_bytes) noexcept {
  return may_allocate(count * size_bytes) ? __libc_calloc(count, size_bytes) : nullptr;
}

void* realloc(void* old, std::size_t size_bytes) noexcept {
  return may_allocate(size_bytes) ? __libc_realloc(old, size_bytes) : nullptr;
}

void* memalign(std::size_t alignment_bytes, std::size_t size_bytes) noexcept {
  return may_allocate(size_bytes) ? __libc_memalign(alignment_bytes, size_bytes) : nullptr;
}

void* aligned_alloc(std::size_t alignment_bytes, std::size_t size_bytes) noexcept {
  return may_allocate(size_bytes) ? __libc_memalign(alignment_bytes, size_bytes) : nullptr;
}

int posix_memalign(void** out, std::size_t alignment_bytes, std::size_t size_bytes) noexcept {
  void* const memory = may_allocate(size_bytes) ? __libc_memalign(alignment_bytes, size_bytes) : nullptr;
  if (memory == nullptr) {
    return ENOMEM;
  }
  *out = memory;
  return 0;
}
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
