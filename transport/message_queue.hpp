// Messages of programs, while they wait for who takes them.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace framewire {

/// Bounds of each MessageQueue. The one in bytes is for a peer that sends the largest messages and takes none.
inline constexpr std::size_t max_waiting_messages = 256;
inline constexpr std::size_t max_waiting_message_bytes = std::size_t{1024} * 1024;

/// In their order. A message has at most max_message_body_bytes, so that an empty queue takes any. Its owner guards it.
template <typename Message>
class MessageQueue {
 public:
  [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return waiting_.size(); }

  /// `bytes` is the size of its body. False: there is no room.
  [[nodiscard]] bool push(Message message, std::size_t bytes) {
    if (!has_room(bytes)) {
      return false;
    }
    waiting_.push_back({std::move(message), bytes});
    bytes_ += bytes;
    return true;
  }

  /// Drops the oldest messages until there is room, and returns how many.
  std::uint64_t push_over_oldest(Message message, std::size_t bytes) {
    std::uint64_t dropped = 0;
    for (; !empty() && !has_room(bytes); ++dropped) {
      static_cast<void>(pop());
    }
    waiting_.push_back({std::move(message), bytes});
    bytes_ += bytes;
    return dropped;
  }

  /// The oldest one. The queue must not be empty.
  [[nodiscard]] Message pop() {
    assert(!empty());
    Message message = std::move(waiting_.front().message);
    bytes_ -= waiting_.front().bytes;
    waiting_.pop_front();
    return message;
  }

  void clear() noexcept {
    waiting_.clear();
    bytes_ = 0;
  }

 private:
  struct Waiting {
    Message message;
    std::size_t bytes;
  };

  [[nodiscard]] bool has_room(std::size_t bytes) const noexcept {
    return waiting_.size() < max_waiting_messages && bytes_ + bytes <= max_waiting_message_bytes;
  }

  std::deque<Waiting> waiting_;
  std::size_t bytes_ = 0;
};

}  // namespace framewire
