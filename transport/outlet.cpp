#include "transport/outlet.hpp"

#include <cassert>

namespace framewire {

void WaitingFrames::push(const Entry& entry) noexcept {
  assert(count_ < entries_.size());
  entries_[(head_ + count_) % entries_.size()] = entry;
  ++count_;
}

void WaitingFrames::pop() noexcept {
  assert(count_ > 0);
  head_ = (head_ + 1) % entries_.size();
  --count_;
}

}  // namespace framewire
