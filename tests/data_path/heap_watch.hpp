// Counts this process's heap allocations, and lets them fail. heap_watch.cpp replaces the C library's allocation
// functions in the program that links it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace framewire::test {

/// The allocations of one heap watch.
struct HeapUse {
  std::uint64_t allocations = 0;                   // by all threads of the process
  std::map<std::string, std::uint64_t> by_thread;  // the same, by the thread's name in the kernel
  /// Each thread's first allocation: its size and its call stack. Text for people.
  std::string description;
};

/// Between begin_heap_watch() and end_heap_watch() every malloc, calloc, realloc and aligned allocation counts, and so
/// does every `new`, which calls one of them. One watch at a time. The watching thread must not allocate in between.
void begin_heap_watch() noexcept;
HeapUse end_heap_watch();

/// Makes every allocation fail in the threads of this name, until it is called with null.
void let_allocations_fail_in(const char* thread) noexcept;
/// How many have failed so far.
std::uint64_t failed_allocations() noexcept;

}  // namespace framewire::test
