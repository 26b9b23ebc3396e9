#include "tests/memory/chunk_hook.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "memory/host_block.hpp"

namespace {

std::atomic<const std::function<void()>*> on_chunk = nullptr;

}  // namespace

namespace framewire::test {

ChunkHook::ChunkHook(std::function<void()> hook) : hook_(std::move(hook)) {
  on_chunk = &hook_;
}

ChunkHook::~ChunkHook() {
  on_chunk = nullptr;
}

}  // namespace framewire::test

// The system's header has reserved names for the parameters.
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name)
extern "C" int madvise(void* address, std::size_t size_bytes, int advice) noexcept {
  const auto* const hook = on_chunk.load();
  if (hook != nullptr && advice == MADV_POPULATE_WRITE && size_bytes == framewire::allocation_chunk_bytes) {
    (*hook)();
    return 0;
  }
  return static_cast<int>(::syscall(SYS_madvise, address, size_bytes, advice));
}
