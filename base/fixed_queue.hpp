// A queue of fixed capacity that never allocates after its construction.
#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace framewire {

/// First in, first out. Not thread-safe: its owner guards it.
template <typename Value>
class FixedQueue {
 public:
  FixedQueue() = default;  // capacity 0
  explicit FixedQueue(std::size_t capacity) : places_(capacity) {}

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] bool full() const noexcept { return count_ == places_.size(); }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::size_t room() const noexcept { return places_.size() - count_; }
  /// Not when empty.
  [[nodiscard]] Value& front() noexcept {
    assert(count_ > 0);
    return places_[head_];
  }
  [[nodiscard]] const Value& front() const noexcept {
    assert(count_ > 0);
    return places_[head_];
  }

  /// The value behind `before` others; it is there if size() > before.
  [[nodiscard]] Value& at(std::size_t before) noexcept {
    assert(before < count_);
    return places_[wrapped(head_ + before)];
  }
  [[nodiscard]] const Value& at(std::size_t before) const noexcept {
    assert(before < count_);
    return places_[wrapped(head_ + before)];
  }

  /// How many values are before the first one that `is_it` says yes to; size() if there is none.
  template <typename Predicate>
  [[nodiscard]] std::size_t find_if(const Predicate& is_it) const noexcept {
    std::size_t before = 0;
    while (before < count_ && !is_it(at(before))) {
      ++before;
    }
    return before;
  }

  /// Not when full.
  void push(Value&& value) noexcept {
    assert(!full());
    places_[wrapped(head_ + count_)] = std::move(value);
    ++count_;
  }
  void push(const Value& value) noexcept {
    assert(!full());
    places_[wrapped(head_ + count_)] = value;
    ++count_;
  }
  /// Not when empty. Also clears the queue's own copy, so that the queue keeps no resource alive.
  Value pop() noexcept {
    Value value = std::move(front());
    drop();
    return value;
  }
  /// Removes the first value. Not when empty. A value with clear() is kept, without what it owns, until another one
  /// takes its place: to make a large one anew would take longer.
  void drop() noexcept {
    if constexpr (requires(Value & value) { value.clear(); }) {
      front().clear();
    } else {
      std::destroy_at(&front());
      std::construct_at(&front());
    }
    --count_;
    head_ = count_ == 0 ? 0 : wrapped(head_ + 1);  // an empty queue goes on where the caches have it
  }

 private:
  /// Less than twice the capacity becomes less than that. A division would take longer than all else here.
  [[nodiscard]] std::size_t wrapped(std::size_t place) const noexcept {
    return place < places_.size() ? place : place - places_.size();
  }

  std::vector<Value> places_;
  std::size_t head_ = 0;
  std::size_t count_ = 0;
};

}  // namespace framewire
