// Counts what this process takes from the heap. Linked into a program, heap_watch.cpp stands in for the C library's
// allocation functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace framewire::test {

/// What was taken while somebody watched.
struct HeapUse {
  std::uint64_t allocations = 0;                   // by every thread of the process
  std::map<std::string, std::uint64_t> by_thread;  // the same, by the thread's name as the kernel knows it
  /// The first one of each thread: its size and the functions above. For a person.
  std::string description;
};

/// One at a time watches: from begin_heap_watch() to end_heap_watch() every malloc, calloc, realloc and aligned
/// relative counts, and so does every `new`, which calls one of them. Whoever watches may allocate nothing in between.
void begin_heap_watch() noexcept;
HeapUse end_heap_watch();

}  // namespace framewire::test
