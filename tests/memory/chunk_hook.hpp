// Observes the allocation of large blocks.
#pragma once

#include <functional>

namespace framewire::test {

/// While it lives, `hook` is called on the allocating thread for every whole piece of a block (allocation_piece_bytes).
/// The piece is then not populated. One hook at a time. piece_hook.cpp replaces the C library's madvise() in the whole
/// program.
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
