// The calls by which simulated processes get memory for blocks, before the C library's. What malloc() takes is as ever.
#include <sys/mman.h>

#include <cerrno>

#include "tests/sim/c_library.hpp"
#include "tests/sim/descriptors.hpp"
#include "tests/sim/world.hpp"

using framewire::sim::failed;
using framewire::sim::find_next;
using framewire::sim::World;

// The C library's headers have reserved names for the arguments.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" {

void* mmap(void* address, std::size_t bytes, int protection, int flags, int fd, off_t offset) noexcept {
  static auto* const original = [] {
    decltype(mmap)* found = nullptr;
    find_next(found, "mmap");
    return found;
  }();
  const World* const world = World::current();
  if (world != nullptr && !world->has_memory()) {
    failed(ENOMEM);
    return MAP_FAILED;
  }
  return original(address, bytes, protection, flags, fd, offset);
}

int memfd_create(const char* name, unsigned flags) noexcept {
  static auto* const original = [] {
    decltype(memfd_create)* found = nullptr;
    find_next(found, "memfd_create");
    return found;
  }();
  World* const world = World::current();
  if (world != nullptr && world->fails("memfd_create")) {
    return failed(ENOMEM);
  }
  return original(name, flags);
}

}  // extern "C"
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
