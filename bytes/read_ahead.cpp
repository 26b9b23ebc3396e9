#include "bytes/read_ahead.hpp"

#include <algorithm>
#include <cassert>
#include <span>
#include <utility>

#include "base/wait.hpp"

namespace framewire {

ReadAhead::ReadAhead(Input& input, RunningDigest* digest, std::uint64_t max_bytes)
    : input_(input), max_bytes_(max_bytes), digest_(digest), thread_([this] { run(); }) {}

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
  ++in_flight_;
  changed_.notify_all();
}

ReadAhead::Chunk ReadAhead::take() {
  assert(in_flight_ > 0);
  std::unique_lock lock(mutex_);
  while (ready_ == 0) {
    if (filled_.empty() && fault_) {
      std::rethrow_exception(fault_);
    }
    if (!sum_one(lock)) {
      changed_.wait(lock);
    }
  }
  Chunk chunk = std::move(filled_.front());
  filled_.pop_front();
  --ready_;
  --in_flight_;
  return chunk;
}

/// Digests the next chunk that is read. Returns false if there is none, or if another thread is digesting.
bool ReadAhead::sum_one(std::unique_lock<std::mutex>& lock) {
  if (is_summing_ || ready_ == filled_.size()) {
    return false;
  }
  Chunk& chunk =
      filled_[ready_];  // stays in place: chunks are only appended behind it, and it is not taken before it is digested
  is_summing_ = true;
  lock.unlock();
  digest_->add(chunk.slot.bytes().first(chunk.read.bytes));
  lock.lock();
  chunk.digest = digest_->value();
  ++ready_;
  is_summing_ = false;
  changed_.notify_all();
  return true;
}

void ReadAhead::run() noexcept {
  set_thread_name("fw-reader");
  try {
    read_all();
  } catch (...) {  // std::bad_alloc
    const std::scoped_lock lock(mutex_);
    fault_ = std::current_exception();
  }
  changed_.notify_all();
}

void ReadAhead::read_all() {
  ReadState state = ReadState::more;
  std::unique_lock lock(mutex_);
  while (state == ReadState::more) {
    while (!is_over_ && empty_.empty()) {
      if (!sum_one(lock)) {
        changed_.wait(lock);
      }
    }
    if (is_over_) {
      return;
    }
    ClaimedSlot slot = std::move(empty_.front());
    empty_.pop_front();
    lock.unlock();
    const std::span<std::byte> bytes = slot.bytes();
    const Input::Read read = input_.read(bytes.first(std::min<std::uint64_t>(bytes.size(), max_bytes_)));
    lock.lock();
    state = read.state;
    filled_.push_back({.slot = std::move(slot), .read = read});
    ready_ += digest_ == nullptr ? 1 : 0;
    changed_.notify_all();
  }
}

}  // namespace framewire
