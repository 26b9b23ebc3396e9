// Observes the allocation of large blocks.
#pragma once

#include <functional>

namespace framewire::test {

/// While it lives, `hook` is called on the allocating thread for every whole chunk of a block (allocation_chunk_bytes).
/// The chunk is then not populated. One hook at a time. chunk_hook.cpp replaces the C library's madvise() in the whole
/// program.
class ChunkHook {
 public:
  explicit ChunkHook(std::function<void()> hook);
  ChunkHook(const ChunkHook&) = delete;
  ChunkHook& operator=(const ChunkHook&) = delete;
  ~ChunkHook();

 private:
  std::function<void()> hook_;
};

}  // namespace framewire::test
