#include "tests/memory/piece_hook.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "memory/host_block.hpp"

namespace {

std::atomic<const std::function<void()>*> on_piece = nullptr;

}  // namespace

namespace framewire::test {

PieceHook::PieceHook(std::function<void()> hook) : hook_(std::move(hook)) {
  on_piece = &hook_;
}

PieceHook::~PieceHook() {
  on_piece = nullptr;
}

}  // namespace framewire::test

// The system's header has reserved names for the parameters.
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name)
extern "C" int madvise(void* address, std::size_t size_bytes, int advice) noexcept {
  const auto* const hook = on_piece.load();
  if (hook != nullptr && advice == MADV_POPULATE_WRITE && size_bytes == framewire::allocation_piece_bytes) {
    (*hook)();
    return 0;
  }
  return static_cast<int>(::syscall(SYS_madvise, address, size_bytes, advice));
}
