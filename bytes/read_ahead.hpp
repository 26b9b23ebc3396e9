// Reading a source ahead of sending it, and summing it up.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "bytes/digest.hpp"
#include "bytes/input.hpp"
#include "transport/claimed_slot.hpp"

namespace framewire {

/// Fills slots from the input, in the order in which they are given, on a thread of its own ("fw-reader"): while a
/// chunk is sent the next ones are read. Chunks are summed up by whoever would wait otherwise: the source that asks for
/// the next one, or the reader that has none left to fill (over some links publishing is most of the work, over others
/// reading is). give() and take() belong to one thread, the stream's source.
class ReadAhead {
 public:
  /// Both outlive it, and are its own until it is destroyed. Without `digest` nothing is summed up. A chunk has at most
  /// `max_bytes`, and fits its slot.
  ReadAhead(Input& input, RunningDigest* digest, std::uint64_t max_bytes = UINT64_MAX);
  /// Waits for a read under way, which the input's is_stopping() ends; slots that are still here go back to the pool.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  struct Chunk {
    ClaimedSlot slot;
    Input::Read read;
    std::optional<std::uint64_t> digest{};  // of all bytes up to its end
  };
  void give(ClaimedSlot slot);
  /// How many were given and not taken yet.
  [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_; }
  /// The next chunk; waits for it. One must be under way, and none with another state than `more` have been taken.
  /// Throws what the reading threw.
  Chunk take();

 private:
  void run() noexcept;
  void read_all();
  bool sum_one(std::unique_lock<std::mutex>& lock);

  Input& input_;
  const std::uint64_t max_bytes_;
  RunningDigest* digest_;      // whose thread it is: see is_summing_
  std::size_t in_flight_ = 0;  // the source's thread
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::exception_ptr fault_;
  std::deque<ClaimedSlot> empty_;
  std::deque<Chunk> filled_;
  std::size_t ready_ = 0;    // how many of those, from the front, need not be summed up any more
  bool is_summing_ = false;  // a thread has the next one, and the digest, without the mutex
  std::thread thread_;
};

}  // namespace framewire
