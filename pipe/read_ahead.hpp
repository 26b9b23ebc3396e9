// Reading a source ahead of sending it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "pipe/input.hpp"
#include "transport/claimed_slot.hpp"

namespace framewire {

/// Fills slots from the input, in the order in which they are given, on a thread of its own ("fw-reader"): while a
/// piece is summed up and sent the next ones are read. give() and take() belong to one thread, the stream's source.
class ReadAhead {
 public:
  /// The input outlives it, and is its own until it is destroyed.
  explicit ReadAhead(Input& input);
  /// Waits for a read under way, which the input's is_stopping() ends; slots that are still here go back to the pool.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  struct Piece {
    ClaimedSlot slot;
    Input::Read read;
  };
  void give(ClaimedSlot slot);
  /// How many were given and not taken yet.
  [[nodiscard]] std::size_t under_way() const noexcept { return under_way_; }
  /// The next piece; waits for it. One must be under way, and none with another state than `more` have been taken.
  /// Throws what the reading threw.
  Piece take();

 private:
  void run() noexcept;
  void read_all();

  Input& input_;
  std::size_t under_way_ = 0;  // the source's thread
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::exception_ptr fault_;
  std::deque<ClaimedSlot> empty_;
  std::deque<Piece> filled_;
  std::thread thread_;
};

}  // namespace framewire
