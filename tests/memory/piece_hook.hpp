// A look into the allocation of large blocks.
#pragma once

#include <functional>

namespace framewire::test {

/// While it stands, `hook` is called for every whole piece of a block (allocation_piece_bytes) that is to be populated,
/// on the thread that allocates it, and instead of that. One at a time. piece_hook.cpp stands before the C library's
/// madvise(), in the whole program.
class PieceHook {
 public:
  explicit PieceHook(std::function<void()> hook);
  PieceHook(const PieceHook&) = delete;
  PieceHook& operator=(const PieceHook&) = delete;
  ~PieceHook();

 private:
  std::function<void()> hook_;
};

}  // namespace framewire::test
