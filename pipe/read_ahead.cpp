#include "pipe/read_ahead.hpp"

#include <cassert>
#include <utility>

#include "base/wait.hpp"

namespace framewire {

ReadAhead::ReadAhead(Input& input) : input_(input), thread_([this] { run(); }) {}

ReadAhead::~ReadAhead() {
  {
    const std::scoped_lock lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ReadAhead::give(ClaimedSlot slot) {
  {
    const std::scoped_lock lock(mutex_);
    empty_.push_back(std::move(slot));
  }
  ++under_way_;
  changed_.notify_all();
}

ReadAhead::Piece ReadAhead::take() {
  assert(under_way_ > 0);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !filled_.empty() || fault_; });
  if (filled_.empty()) {
    std::rethrow_exception(fault_);
  }
  Piece piece = std::move(filled_.front());
  filled_.pop_front();
  --under_way_;
  return piece;
}

void ReadAhead::run() noexcept {
  name_this_thread("fw-reader");
  try {
    read_all();
  } catch (...) {  // no memory for a word or two
    const std::scoped_lock lock(mutex_);
    fault_ = std::current_exception();
  }
  changed_.notify_all();
}

void ReadAhead::read_all() {
  ReadState state = ReadState::more;
  while (state == ReadState::more) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_over_ || !empty_.empty(); });
    if (is_over_) {
      return;
    }
    ClaimedSlot slot = std::move(empty_.front());
    empty_.pop_front();
    lock.unlock();
    const Input::Read read = input_.read(slot.bytes());
    state = read.state;
    lock.lock();
    filled_.push_back({std::move(slot), read});
    changed_.notify_all();
  }
}

}  // namespace framewire
